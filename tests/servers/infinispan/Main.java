import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.configuration.global.GlobalConfigurationBuilder;
import org.infinispan.manager.DefaultCacheManager;
import org.infinispan.server.resp.RespServer;
import org.infinispan.server.resp.configuration.RespServerConfigurationBuilder;

/** Infinispan's RESP endpoint on a cache in memory: {@code Main PORT}. */
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
        new RespServer().start(endpoint.build(), manager);
        Thread.currentThread().join();
    }
}
