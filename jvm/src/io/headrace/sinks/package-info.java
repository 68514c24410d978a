/**
 * What the sinks have in common that speak to servers over the network.
 *
 * <p>Each system has a package of its own below this one, with one public class that the delivery
 * opens; connections, waiting and retries are the system's own matter.
 */
package io.headrace.sinks;
