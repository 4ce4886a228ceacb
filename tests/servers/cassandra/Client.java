import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.QueryOptions;
import org.apache.cassandra.db.ConsistencyLevel;
import org.apache.cassandra.service.pager.PagingState;
import org.apache.cassandra.transport.Message;
import org.apache.cassandra.transport.ProtocolVersion;
import org.apache.cassandra.transport.SimpleClient;
import org.apache.cassandra.transport.messages.QueryMessage;
import org.apache.cassandra.transport.messages.ResultMessage;

/**
 * Cassandra's own client, for the parts of a test without springload: {@code Client PORT}, and on
 * standard input {@code cql STATEMENT}, {@code count TABLE} or {@code check TABLE}. Rows are those
 * of YCSB with dataintegrity=true.
 */
public class Client {
    private static final int LENGTH = 100;

    private final SimpleClient client;

    private Client(SimpleClient client) {
        this.client = client;
    }

    public static void main(String[] args) throws Exception {
        DatabaseDescriptor.clientInitialization();
        SimpleClient simple = SimpleClient.builder("127.0.0.1", Integer.parseInt(args[0]))
                .protocolVersion(ProtocolVersion.V4).build();
        simple.connect(false);
        Client client = new Client(simple);
        Console.serve(words -> {
            switch (words[0]) {
                case "cql" -> client.page(words[1], null);
                case "check" -> client.check(words[1]);
                case "count" -> client.count(words[1]);
                default -> throw new IllegalArgumentException("no command " + words[0]);
            }
        });
        // Its threads would keep running.
        System.exit(0);
    }

    /** Reads everything; fails if a value does not match its key and field. */
    private void check(String table) throws Exception {
        long rows = 0;
        long values = 0;
        PagingState state = null;
        do {
            ResultMessage.Rows page = (ResultMessage.Rows) page("SELECT * FROM " + table, state);
            for (List<ByteBuffer> row : page.result.rows) {
                String key = text(row.get(0));
                rows++;
                for (int i = 1; i < row.size(); i++) {
                    if (row.get(i) == null) {
                        continue;
                    }
                    String field = page.result.metadata.names.get(i).name.toString();
                    String found = text(row.get(i));
                    if (!found.equals(value(key, field))) {
                        throw new IllegalStateException(key + " " + field + ": " + found);
                    }
                    values++;
                }
            }
            state = page.result.metadata.getPagingState();
        } while (state != null);
        System.out.println(rows + " rows, " + values + " values");
    }

    private void count(String table) {
        ResultMessage.Rows page = (ResultMessage.Rows) page("SELECT COUNT(*) FROM " + table, null);
        System.out.println(page.result.rows.get(0).get(0).getLong(0));
    }

    private Message.Response page(String cql, PagingState state) {
        QueryOptions options = QueryOptions.create(ConsistencyLevel.ONE, new ArrayList<>(), false,
                500, state, null, ProtocolVersion.V4, null);
        return client.execute(new QueryMessage(cql, options));
    }

    private static String text(ByteBuffer bytes) {
        return StandardCharsets.UTF_8.decode(bytes.duplicate()).toString();
    }

    /** YCSB's CoreWorkload.buildDeterministicValue. */
    private static String value(String key, String field) {
        StringBuilder value = new StringBuilder(LENGTH).append(key).append(':').append(field);
        while (value.length() < LENGTH) {
            value.append(':').append(value.toString().hashCode());
        }
        value.setLength(LENGTH);
        return value.toString();
    }
}
