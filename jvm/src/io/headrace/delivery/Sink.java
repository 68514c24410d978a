package io.headrace.delivery;

import java.io.Serializable;

/** A sink as the rows name it by its place in the list: its own name, and its topic. */
record Sink(String name, String topic) implements Serializable {}
