package io.headrace.groups;

/** Where the pages of the group at hand are kept, but for the first of each tree. */
interface Pages {
    Page load(long id);

    void store(long id, Page page);

    void remove(long id);

    /** Gives a number that no page of the group has. */
    long next();
}
