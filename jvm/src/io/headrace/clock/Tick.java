package io.headrace.clock;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** The one row of a batch in which the watermark moves; its time is in microseconds. */
record Tick(long at) implements InputPartition {
    private static final long serialVersionUID = 1L;

    /** Makes readers of ticks. */
    static final class Factory implements PartitionReaderFactory {
        private static final long serialVersionUID = 1L;

        @Override
        public PartitionReader<InternalRow> createReader(InputPartition tick) {
            return new Reader(((Tick) tick).at());
        }
    }

    private static final class Reader implements PartitionReader<InternalRow> {
        private final long at;
        private boolean isRead;

        Reader(long at) {
            this.at = at;
        }

        @Override
        public boolean next() {
            boolean isFirst = !isRead;
            isRead = true;
            return isFirst;
        }

        @Override
        public InternalRow get() {
            return new GenericInternalRow(new Object[] {at});
        }

        @Override
        public void close() {}
    }
}
