package io.headrace.formats;

/**
 * Why a value could not be read.
 *
 * <p>The names, in kebab-case, are stored in dead letters and asked for by users: they never
 * change.
 */
enum Reason {
    VALUE_MISSING,
    VALUE_TOO_LARGE,
    TEXT_NOT_UTF8,
    JSON_MALFORMED,
    JSON_TRAILING_TEXT,
    JSON_DUPLICATE_FIELD,
    JSON_TOO_DEEP,
    AVRO_MALFORMED,
    PROTOBUF_MALFORMED,
    WIRE_HEADER_MISSING,
    SCHEMA_ID_UNKNOWN,
    SCHEMA_NOT_COMPATIBLE,
    FIELD_MISSING,
    FIELD_NULL,
    FIELD_WRONG_TYPE,
    NUMBER_OUT_OF_RANGE,
    ENUM_UNKNOWN,
    TIMESTAMP_UNREADABLE,
    DATE_UNREADABLE,
    UUID_UNREADABLE,
    BYTES_NOT_BASE64,
    EVENT_IN_THE_FUTURE;

    private final String slug = name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');

    String slug() {
        return slug;
    }
}
