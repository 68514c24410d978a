package io.headrace.groups;

import io.headrace.groups.Page.Entry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The different values of a group, each with its number, in order.
 *
 * <p>A tree of pages. Its root is kept by whoever has the tree, all others are {@link Pages}. A
 * batch's changes go down together, so that each page on their way is read and written once.
 */
final class ValueTree {
    /** So many entries stay together however long they are, so that a tree never degenerates. */
    private static final int FEWEST = 4;

    private final Pages pages;
    private final Comparator<byte[]> order;
    private final int most;
    private Page root;
    private long distinct;

    /**
     * Takes up a tree.
     *
     * @param pages where its other pages are
     * @param order compares values
     * @param most how many bytes a page may have
     * @param root the first page
     * @param distinct how many different values there are
     */
    ValueTree(Pages pages, Comparator<byte[]> order, int most, Page root, long distinct) {
        this.pages = pages;
        this.order = order;
        this.most = most;
        this.root = root;
        this.distinct = distinct;
    }

    /** A page below another, as far as it is known: untouched ones are not read. */
    private static final class Child {
        private final long id;
        private final byte[] first;
        private Page page;

        Child(long id, byte[] first, Page page) {
            this.id = id;
            this.first = first;
            this.page = page;
        }
    }

    Page root() {
        return root;
    }

    long distinct() {
        return distinct;
    }

    /** The smallest value, or null if there is none. */
    byte[] smallest() {
        return root.isEmpty() ? null : root.first();
    }

    /** The largest value, or null if there is none. */
    byte[] largest() {
        if (root.isEmpty()) {
            return null;
        }
        Page page = root;
        while (page.height() > 0) {
            page = pages.load(page.last().number());
        }
        return page.last().value();
    }

    /**
     * Adds to the numbers of values; one whose number becomes 0 is gone.
     *
     * @param changes in order, each value once
     * @return whether every number was at least as large as what was taken from it
     */
    boolean apply(List<Entry> changes) {
        try {
            List<Page> made = changed(root, changes);
            while (made.size() > 1) {
                int height = made.get(0).height() + 1;
                made = cut(stored(made), height);
            }
            root = made.isEmpty() ? Page.empty() : made.get(0);
        } catch (BelowZero error) {
            return false;
        }
        while (root.height() > 0 && root.entries().size() == 1) {
            long only = root.last().number();
            root = pages.load(only);
            pages.remove(only);
        }
        return true;
    }

    private List<Entry> stored(List<Page> made) {
        List<Entry> entries = new ArrayList<>(made.size());
        for (Page page : made) {
            long id = pages.next();
            pages.store(id, page);
            entries.add(new Entry(page.first(), id));
        }
        return entries;
    }

    /** Gives what becomes of a page: none, one, or several where there is too much for one. */
    private List<Page> changed(Page page, List<Entry> changes) {
        boolean isLeaf = page.height() == 0;
        return cut(isLeaf ? merged(page, changes) : below(page, changes), page.height());
    }

    private List<Entry> merged(Page leaf, List<Entry> changes) {
        List<Entry> found = new ArrayList<>(leaf.entries().size() + changes.size());
        int next = 0;
        for (Entry change : changes) {
            int end = firstFrom(leaf.entries(), next, change.value());
            found.addAll(leaf.entries().subList(next, end));
            next = end;
            long number = change.number();
            boolean isKnown =
                    end < leaf.entries().size()
                            && order.compare(leaf.entries().get(end).value(), change.value()) == 0;
            if (isKnown) {
                number += leaf.entries().get(end).number();
                next++;
            }
            if (number < 0) {
                throw new BelowZero();
            }
            if (number > 0) {
                found.add(new Entry(change.value(), number));
            }
            distinct += (number > 0 ? 1 : 0) - (isKnown ? 1 : 0);
        }
        found.addAll(leaf.entries().subList(next, leaf.entries().size()));
        return found;
    }

    private List<Entry> below(Page page, List<Entry> changes) {
        List<Child> children = new ArrayList<>(page.entries().size());
        int next = 0;
        for (int i = 0; i < page.entries().size(); i++) {
            Entry entry = page.entries().get(i);
            boolean isLast = i + 1 == page.entries().size();
            // What is smaller than all that is known belongs to the first page.
            int end =
                    isLast
                            ? changes.size()
                            : firstFrom(changes, next, page.entries().get(i + 1).value());
            if (next == end) {
                add(children, new Child(entry.number(), entry.value(), null));
            } else {
                Page child = pages.load(entry.number());
                addAll(children, entry.number(), changed(child, changes.subList(next, end)));
            }
            next = end;
        }
        List<Entry> entries = new ArrayList<>(children.size());
        for (Child child : children) {
            if (child.page != null) {
                pages.store(child.id, child.page);
            }
            entries.add(new Entry(child.first, child.id));
        }
        return entries;
    }

    /** Adds what has become of a page; the first one takes its place. */
    private void addAll(List<Child> children, long id, List<Page> made) {
        if (made.isEmpty()) {
            pages.remove(id);
        }
        for (int i = 0; i < made.size(); i++) {
            Page page = made.get(i);
            add(children, new Child(i == 0 ? id : pages.next(), page.first(), page));
        }
    }

    /** Adds a page; if it has become small, or the one before it has, both are put together. */
    private void add(List<Child> children, Child child) {
        Child before = children.isEmpty() ? null : children.get(children.size() - 1);
        if (before == null || !isSmall(before) && !isSmall(child)) {
            children.add(child);
            return;
        }
        List<Entry> both = new ArrayList<>(loaded(before).entries());
        both.addAll(loaded(child).entries());
        List<Page> made = cut(both, loaded(child).height());
        children.remove(children.size() - 1);
        children.add(new Child(before.id, made.get(0).first(), made.get(0)));
        if (made.size() == 1) {
            pages.remove(child.id);
            return;
        }
        for (int i = 1; i < made.size(); i++) {
            long id = i == 1 ? child.id : pages.next();
            children.add(new Child(id, made.get(i).first(), made.get(i)));
        }
    }

    private boolean isSmall(Child child) {
        return child.page != null && child.page.size() < most / 4;
    }

    private Page loaded(Child child) {
        if (child.page == null) {
            child.page = pages.load(child.id);
        }
        return child.page;
    }

    /** Cuts entries into pages of about the same size, none of them too large if that can be. */
    private List<Page> cut(List<Entry> entries, int height) {
        List<Page> made = new ArrayList<>(1);
        int size = Page.size(entries);
        if (size <= most || entries.size() < 2 * FEWEST) {
            if (!entries.isEmpty()) {
                made.add(new Page(height, entries));
            }
            return made;
        }
        // Not filled to the brim, or the next value would cut it again.
        int each = size / (1 + size / (most * 3 / 4));
        int begin = 0;
        int held = 0;
        for (int i = 0; i < entries.size(); i++) {
            held += entries.get(i).size();
            boolean isFull = held >= each && i + 1 - begin >= FEWEST;
            if (isFull && entries.size() - i - 1 >= FEWEST) {
                made.add(new Page(height, List.copyOf(entries.subList(begin, i + 1))));
                begin = i + 1;
                held = 0;
            }
        }
        made.add(new Page(height, List.copyOf(entries.subList(begin, entries.size()))));
        return made;
    }

    /** Gives the place of the first entry, from a place on, that is not below a value. */
    private int firstFrom(List<Entry> entries, int from, byte[] value) {
        int low = from;
        int high = entries.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (order.compare(entries.get(middle).value(), value) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** More of a value was taken back than was there. */
    private static final class BelowZero extends RuntimeException {
        private static final long serialVersionUID = 1L;

        BelowZero() {
            super(null, null, false, false);
        }
    }
}
