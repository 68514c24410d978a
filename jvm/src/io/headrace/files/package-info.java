/** The local disk, as Spark's checkpoints and tables use it. */
package io.headrace.files;
