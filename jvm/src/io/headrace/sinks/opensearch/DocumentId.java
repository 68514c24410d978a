package io.headrace.sinks.opensearch;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The id of a key's document: the key, where OpenSearch can take it for one. */
final class DocumentId {
    /** OpenSearch refuses longer ones. */
    private static final int LONGEST = 512;

    private DocumentId() {}

    /** Gives the key as text, or its SHA-256 if it is empty, too long, or no text. */
    static String of(byte[] key) {
        if (key.length == 0 || key.length > LONGEST) {
            return hashed(key);
        }
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(key)).toString();
        } catch (CharacterCodingException bytes) {
            return hashed(key);
        }
    }

    private static String hashed(byte[] key) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(key);
            return "sha256:" + HexFormat.of().formatHex(hash);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
