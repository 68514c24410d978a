package io.headrace.sinks.redis;

/** Compares the values of a version column as the script in Redis does. */
final class Version {
    private Version() {}

    /** Whether one is greater: as numbers if both are whole ones, by their signs otherwise. */
    static boolean isNewer(String one, String other) {
        if (!isWhole(one) || !isWhole(other)) {
            return one.compareTo(other) > 0;
        }
        boolean isBelow = one.startsWith("-");
        if (isBelow != other.startsWith("-")) {
            return !isBelow;
        }
        String larger = isBelow ? other : one;
        String smaller = isBelow ? one : other;
        return larger.length() == smaller.length()
                ? larger.compareTo(smaller) > 0
                : larger.length() > smaller.length();
    }

    private static boolean isWhole(String text) {
        int from = text.startsWith("-") ? 1 : 0;
        return from < text.length()
                && text.chars().skip(from).allMatch(sign -> sign >= '0' && sign <= '9');
    }
}
