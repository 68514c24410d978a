package io.headrace.postgres;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.Set;
import javax.net.SocketFactory;
import jdk.net.ExtendedSocketOptions;

/**
 * Sockets that notice within a minute that their server is gone without a word.
 *
 * <p>A statement may take long, so silence alone says nothing; but a machine that is there answers
 * the kernel's probes. Public with a public constructor, as the driver makes it by its name.
 */
public final class WatchedSockets extends SocketFactory {
    private static final int IDLE_SECONDS = 20;
    private static final int BETWEEN_SECONDS = 10;
    private static final int PROBES = 3;

    @Override
    public Socket createSocket() throws IOException {
        return watched(new Socket());
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return watched(new Socket(host, port));
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort)
            throws IOException {
        return watched(new Socket(host, port, local, localPort));
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return watched(new Socket(host, port));
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort)
            throws IOException {
        return watched(new Socket(host, port, local, localPort));
    }

    private static Socket watched(Socket socket) throws IOException {
        socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        set(socket, ExtendedSocketOptions.TCP_KEEPIDLE, IDLE_SECONDS);
        set(socket, ExtendedSocketOptions.TCP_KEEPINTERVAL, BETWEEN_SECONDS);
        set(socket, ExtendedSocketOptions.TCP_KEEPCOUNT, PROBES);
        return socket;
    }

    private static void set(Socket socket, SocketOption<Integer> option, int value)
            throws IOException {
        Set<SocketOption<?>> known = socket.supportedOptions();
        if (known.contains(option)) {
            socket.setOption(option, value);
        }
    }
}
