package io.headrace.tables;

/**
 * Where a change is in the log of its database.
 *
 * <p>Changes are compared by two numbers, as their positions alone may follow another order than
 * that of the commits; a row of a snapshot has a position and no such order. The first number is
 * below zero for the changes of a connector's first transaction.
 *
 * @param position one number that grows with the database's log
 * @param major the first number to compare changes by
 * @param minor the second one
 */
record Place(long position, long major, long minor) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
        int order = Long.compare(major, other.major);
        return order == 0 ? Long.compare(minor, other.minor) : order;
    }

    /** The position that a snapshot which holds this change cannot lie below. */
    long reach() {
        return Math.max(position, major);
    }

    /** Whether a change of the same key, which was seen, lies here or behind. */
    boolean isReached(Place seen) {
        // A first transaction is told again, or it is that of a connector that was made anew: then
        // it lies behind all that an earlier one has told.
        boolean isFirst = major < 0 && seen.major >= 0;
        return isFirst ? minor <= seen.minor : compareTo(seen) <= 0;
    }
}
