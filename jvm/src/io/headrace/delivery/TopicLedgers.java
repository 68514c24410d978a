package io.headrace.delivery;

import java.util.List;

/** The ledgers of Kafka's lanes, in the partitions of the progress topic. */
final class TopicLedgers implements Ledgers {
    private final DeliveryOptions options;
    private final int partitions;

    TopicLedgers(DeliveryOptions options, int partitions) {
        this.options = options;
        this.partitions = partitions;
    }

    @Override
    public int width() {
        return partitions;
    }

    @Override
    public void fence() {
        for (int lane = 0; lane < partitions; lane++) {
            try (Lane writer = new Lane(options, lane)) {
                writer.fence();
            }
        }
    }

    @Override
    public LedgerRecord last(int lane) {
        try (Ledger ledger = new Ledger(options, lane)) {
            return options.adopt().isEmpty() ? ledger.glance() : ledger.settled();
        }
    }

    /** All of it in one transaction. */
    @Override
    public void replace(List<LedgerRecord> records) {
        try (Lane writer = new Lane(options, 0)) {
            writer.fence();
            writer.begin();
            for (int lane = 0; lane < records.size(); lane++) {
                writer.sendRecord(records.get(lane), lane);
            }
            writer.flush();
            writer.commit(null);
        }
    }
}
