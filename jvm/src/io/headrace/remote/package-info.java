/**
 * Rows that are asked for in a database while a batch runs: many keys with one question, a bounded
 * cache in front of it, and patience with a server that is away.
 */
package io.headrace.remote;
