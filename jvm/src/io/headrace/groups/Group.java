package io.headrace.groups;

import io.headrace.groups.GroupTerms.Wanted;
import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;

/** The totals of one group: how many rows it has, and what it knows of each of their values. */
final class Group {
    private static final byte VERSION = 1;

    private final GroupShape shape;
    private final Total[] totals;
    private long rows;

    /** What is known of a value: how often it is not null, its sum, and its different forms. */
    private static final class Total {
        private final Values.Changes changes;
        private long count;
        private ExactSum sum;
        private ValueTree tree;

        Total(ExactSum sum, ValueTree tree, Values.Changes changes) {
            this.sum = sum;
            this.tree = tree;
            this.changes = changes;
        }
    }

    private Group(GroupShape shape) {
        this.shape = shape;
        this.totals = new Total[shape.values().length()];
    }

    /** Gives a group without rows. */
    static Group empty(GroupShape shape, Pages pages) {
        Group group = new Group(shape);
        for (int i = 0; i < group.totals.length; i++) {
            ExactSum sum = shape.isSummed(i) ? new ExactSum() : null;
            group.totals[i] = group.total(i, sum, Page.empty(), 0, pages);
        }
        return group;
    }

    /**
     * Reads what {@link #write} wrote.
     *
     * @return null if it was kept by another declaration
     */
    static Group read(GroupShape shape, ByteBuffer in, Pages pages) {
        if (in.get() != VERSION || in.getLong() != shape.number()) {
            return null;
        }
        Group group = new Group(shape);
        group.rows = in.getLong();
        for (int i = 0; i < group.totals.length; i++) {
            long count = in.getLong();
            ExactSum sum = shape.isSummed(i) ? ExactSum.read(in) : null;
            Page root = null;
            long distinct = 0;
            if (shape.ordered()[i] != null) {
                distinct = in.getLong();
                byte[] page = new byte[in.getInt()];
                in.get(page);
                root = Page.of(page);
            }
            group.totals[i] = group.total(i, sum, root, distinct, pages);
            group.totals[i].count = count;
        }
        return group;
    }

    private Total total(int value, ExactSum sum, Page root, long distinct, Pages pages) {
        Values kept = shape.ordered()[value];
        if (kept == null) {
            return new Total(sum, null, null);
        }
        int most = shape.terms().pageBytes();
        ValueTree tree = new ValueTree(pages, kept.order(), most, root, distinct);
        return new Total(sum, tree, kept.new Changes());
    }

    boolean isEmpty() {
        return rows == 0;
    }

    /** Adds a row's values, or takes them back. */
    void add(InternalRow values, boolean isTakenBack) {
        int one = isTakenBack ? -1 : 1;
        rows += one;
        for (int i = 0; i < totals.length; i++) {
            if (values.isNullAt(i)) {
                continue;
            }
            Total total = totals[i];
            total.count += one;
            if (total.sum == null && total.changes == null) {
                continue;
            }
            Object value = values.get(i, shape.type(i));
            if (total.sum != null) {
                total.sum.add(value, isTakenBack);
            }
            if (total.changes != null) {
                total.changes.add(value, isTakenBack);
            }
        }
    }

    /**
     * Comes to terms with all that was added and taken back.
     *
     * @return whether nothing was taken back that had not been added
     */
    boolean settle() {
        boolean isRight = rows >= 0;
        for (Total total : totals) {
            if (total.tree != null) {
                isRight &= total.tree.apply(total.changes.inOrder());
                isRight &= rows > 0 || total.tree.root().isEmpty();
            }
            isRight &= total.count >= 0 && total.count <= rows;
            isRight &= total.count > 0 || total.sum == null || total.sum.isEmpty();
        }
        return isRight;
    }

    /** Gives a total; null if there is none, or if it does not fit its type. */
    Object told(Wanted wanted) {
        Total total = wanted.value() < 0 ? null : totals[wanted.value()];
        switch (wanted.function()) {
            case ROWS:
                return rows;
            case COUNT:
                return total.count;
            case DISTINCT:
                return total.tree.distinct();
            default:
                return total.count == 0 ? null : known(wanted, total);
        }
    }

    /** Whether a total has a value; one that is null all the same does not fit its type. */
    boolean has(Wanted wanted) {
        return wanted.value() < 0 || totals[wanted.value()].count > 0;
    }

    private Object known(Wanted wanted, Total total) {
        DataType type = shape.type(wanted);
        switch (wanted.function()) {
            case SUM:
                return total.sum.sum(type);
            case AVG:
                return total.sum.mean(type, total.count);
            case MIN:
                return shape.ordered()[wanted.value()].unpacked(total.tree.smallest());
            default:
                return shape.ordered()[wanted.value()].unpacked(total.tree.largest());
        }
    }

    /** How many bytes {@link #write} needs at the most. */
    int size() {
        int size = 1 + Long.BYTES * 2;
        for (Total total : totals) {
            size += Long.BYTES + (total.sum == null ? 0 : total.sum.size());
            size += total.tree == null ? 0 : Long.BYTES + Integer.BYTES + total.tree.root().size();
        }
        return size;
    }

    void write(ByteBuffer out) {
        out.put(VERSION).putLong(shape.number()).putLong(rows);
        for (Total total : totals) {
            out.putLong(total.count);
            if (total.sum != null) {
                total.sum.write(out);
            }
            if (total.tree != null) {
                byte[] root = total.tree.root().toBytes();
                out.putLong(total.tree.distinct()).putInt(root.length).put(root);
            }
        }
    }
}
