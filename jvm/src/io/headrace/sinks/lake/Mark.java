package io.headrace.sinks.lake;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.headrace.delivery.BatchTerms;
import io.headrace.delivery.LedgerRecord;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * The last batch of a sink, in a small file beside its data.
 *
 * <p>A commit of a lake is dear, and a batch that brought no rows should not need one. The mark
 * says which commit was the last one with rows, and how far batches without rows went since. The
 * commits are the truth: one that came behind the mark's, as when a driver died between the two,
 * takes the mark's place.
 *
 * @param table the id of what is written to
 * @param version of the table by the last commit with rows, or {@link #NONE}
 * @param record the last batch
 * @param since how many batches with rows came since the lake was last optimised
 */
record Mark(String table, long version, LedgerRecord record, int since) {
    /** The version of a lake that no rows were written to yet. */
    static final long NONE = -1;

    private static final ObjectMapper JSON = new ObjectMapper();

    /** Reads a mark; null if there is none that can be read. */
    static Mark read(Path file, Configuration configuration) {
        try (InputStream content = file.getFileSystem(configuration).open(file)) {
            JsonNode json = JSON.readTree(content);
            byte[] record = json.get("record").toString().getBytes(StandardCharsets.UTF_8);
            return new Mark(
                    json.get("table").asText(),
                    json.get("version").asLong(),
                    LedgerRecord.parse(record),
                    json.get("since").asInt());
        } catch (FileNotFoundException | JsonProcessingException missing) {
            return null;
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /** Whether both are of the same batch, written by the same or by two drivers. */
    static boolean isSameBatch(Mark one, Mark other) {
        if (one == null || other == null) {
            return one == other;
        }
        BatchTerms mine = one.record().terms();
        BatchTerms theirs = other.record().terms();
        return mine.batch() == theirs.batch() && mine.lineage().equals(theirs.lineage());
    }

    /** Puts this mark in the place of the one before, so that readers see one of the two. */
    void write(Path file, Configuration configuration) {
        try {
            ObjectNode json =
                    JSON.createObjectNode()
                            .put("table", table)
                            .put("version", version)
                            .put("since", since);
            json.set("record", JSON.readTree(record.toBytes()));
            SmallFiles.replace(file, JSON.writeValueAsBytes(json), configuration);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }
}
