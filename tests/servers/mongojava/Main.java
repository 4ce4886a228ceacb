import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import java.util.List;

/** Serves MongoDB's protocol from an H2 file: {@code Main PORT FILE}. */
public class Main {
    /** The server's own version, except for the wire version: current clients refuse its 8. */
    private static final MongoVersion VERSION = new MongoVersion() {
        @Override
        public List<Integer> getVersionArray() {
            return List.of(5, 0, 0);
        }

        @Override
        public int getWireVersion() {
            return 13;
        }
    };

    public static void main(String[] args) throws Exception {
        H2Backend backend = new H2Backend(args[1]);
        backend.version(VERSION);
        new MongoServer(backend).bind("127.0.0.1", Integer.parseInt(args[0]));
        Thread.currentThread().join();
    }
}
