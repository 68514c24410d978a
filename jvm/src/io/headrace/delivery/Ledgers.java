package io.headrace.delivery;

import java.util.List;

/** The ledgers of all lanes of a job, as the driver looks at them before the first batch. */
interface Ledgers {
    /** How many lanes may have a ledger: at least as many as there are now. */
    int width();

    /** Shuts out every holder, so that what is adopted does not change meanwhile. */
    void fence();

    /** The last record of a lane, or null. */
    LedgerRecord last(int lane);

    /** Writes all ledgers anew, at once, one record for each lane that there is from now on. */
    void replace(List<LedgerRecord> records);
}
