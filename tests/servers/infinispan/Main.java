import io.netty.channel.Channel;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.security.auth.Subject;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.configuration.global.GlobalConfigurationBuilder;
import org.infinispan.manager.DefaultCacheManager;
import org.infinispan.server.resp.RespServer;
import org.infinispan.server.resp.authentication.RespAuthenticator;
import org.infinispan.server.resp.configuration.RespServerConfigurationBuilder;

/**
 * Infinispan's RESP endpoint on an in-memory cache: {@code Main PORT}, with {@code password NAME
 * PASSWORD} for its only user, or {@code tls FOLDER} with server.pem and key.pem.
 */
public class Main {
    private static final String CACHE = "respCache";

    public static void main(String[] args) throws Exception {
        GlobalConfigurationBuilder global = new GlobalConfigurationBuilder().nonClusteredDefault();
        global.defaultCacheName(CACHE);
        ConfigurationBuilder cache = new ConfigurationBuilder();
        cache.encoding().mediaType("application/octet-stream");
        DefaultCacheManager manager = new DefaultCacheManager(global.build(), cache.build());
        RespServerConfigurationBuilder endpoint = new RespServerConfigurationBuilder();
        endpoint.host("127.0.0.1").port(Integer.parseInt(args[0])).defaultCacheName(CACHE);
        if (args.length > 1 && args[1].equals("password")) {
            endpoint.authentication().enable().authenticator(new OneUser(args[2], args[3]));
        } else if (args.length > 1) {
            endpoint.ssl().enable().sslContext(context(Path.of(args[2])));
        }
        new RespServer().start(endpoint.build(), manager);
        Thread.currentThread().join();
    }

    private static SSLContext context(Path folder) throws Exception {
        byte[] chain = Files.readAllBytes(folder.resolve("server.pem"));
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        Certificate[] certificates =
            factory.generateCertificates(new ByteArrayInputStream(chain)).toArray(new Certificate[0]);
        String pem = Files.readString(folder.resolve("key.pem"));
        byte[] bytes = Base64.getMimeDecoder().decode(pem.replaceAll("-----[A-Z ]*-----", ""));
        PrivateKey key = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(bytes));
        char[] none = new char[0];
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, none);
        store.setKeyEntry("server", key, none, certificates);
        KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
        keys.init(store, none);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        return context;
    }

    private record OneUser(String name, String password) implements RespAuthenticator {
        @Override
        public CompletionStage<Subject> clientCertAuth(Channel channel) {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletionStage<Subject> usernamePasswordAuth(String user, char[] given) {
            boolean known = name.equals(user) && password.equals(new String(given));
            return CompletableFuture.completedFuture(known ? new Subject() : null);
        }

        @Override
        public boolean isClientCertAuthEnabled() {
            return false;
        }
    }
}
