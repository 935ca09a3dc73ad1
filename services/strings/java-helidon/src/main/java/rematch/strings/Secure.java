// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.helidon.common.tls.Tls;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * The flag {@code --tls}: whether connections are TLS, with a certificate of this process alone.
 *
 * @param others the arguments without this flag
 */
record Secure(boolean on, String... others) {

    private static final String FLAG = "--tls";

    static Secure off() {
        return new Secure(false);
    }

    /** Takes the flag out of the arguments, as {@code --tls=on} or {@code --tls=off}; the last one counts. */
    static Secure of(String... args) throws Settings.BadFlag {
        boolean on = false;
        List<String> others = new ArrayList<>();
        for (String arg : args) {
            if (arg.equals(FLAG + "=on") || arg.equals(FLAG + "=off")) {
                on = arg.endsWith("on");
            } else if (arg.startsWith(FLAG)) {
                throw new Settings.BadFlag(FLAG + " has no such value; allowed: " + FLAG + "=off, " + FLAG + "=on");
            } else {
                others.add(arg);
            }
        }
        return new Secure(on, others.toArray(String[]::new));
    }

    /** TLS 1.3 by the suite that Go takes on the same machine, so that both encrypt alike. */
    static Tls tls() throws IOException {
        Path folder = Files.createTempDirectory("rematch-tls");
        Path store = folder.resolve("certificate.p12");
        char[] password = UUID.randomUUID().toString().toCharArray();
        try {
            make(store, new String(password));
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys(store, password).getKeyManagers(), null, null);
            return Tls.builder()
                    .sslContext(context)
                    .enabledProtocols(List.of("TLSv1.3"))
                    .enabledCipherSuites(List.of("TLS_AES_128_GCM_SHA256"))
                    .build();
        } catch (GeneralSecurityException broken) {
            throw new IOException(broken);
        } finally {
            Files.deleteIfExists(store);
            Files.delete(folder);
        }
    }

    private static KeyManagerFactory keys(Path store, char[] password) throws IOException, GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, password);
        }
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, password);
        return factory;
    }

    /** The JDK has no public class that signs certificates; its keytool does. */
    private static void make(Path store, String password) throws IOException {
        Process keytool = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair", "-alias", "service",
                "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=localhost", "-validity", "2",
                "-storetype", "PKCS12", "-storepass", password, "-keystore", store.toString())
                .redirectErrorStream(true)
                .start();
        String text = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (keytool.waitFor() != 0) {
                throw new IOException("keytool: " + text.strip());
            }
        } catch (InterruptedException hurried) {
            Thread.currentThread().interrupt();
            throw new IOException(hurried);
        }
    }
}
