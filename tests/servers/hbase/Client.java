import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.ColumnPrefixFilter;

/**
 * HBase's own client, for the parts of a test without springload: {@code Client ZOOKEEPER_PORT},
 * and {@code COMMAND TABLE ...} on standard input. Rows are those of YCSB with dataintegrity=true.
 */
public class Client {
    private static final int FIELDS = 10;
    private static final int LENGTH = 100;

    private final Connection connection;
    private final Admin admin;
    private final TableName name;

    private Client(Connection connection, Admin admin, String table) {
        this.connection = connection;
        this.admin = admin;
        this.name = TableName.valueOf(table);
    }

    public static void main(String[] args) throws Exception {
        Configuration configuration = HBaseConfiguration.create();
        configuration.set("hbase.zookeeper.quorum", "127.0.0.1");
        configuration.set("hbase.zookeeper.property.clientPort", args[0]);
        try (Connection connection = ConnectionFactory.createConnection(configuration);
                Admin admin = connection.getAdmin()) {
            Console.serve(words -> new Client(connection, admin, words[1])
                    .run(words[0], Arrays.copyOfRange(words, 2, words.length)));
        }
    }

    private void run(String command, String[] args) throws Exception {
        switch (command) {
            case "create" -> create(args[0], Arrays.copyOfRange(args, 1, args.length));
            case "drop" -> drop();
            case "load" -> load(args[0], Long.parseLong(args[1]), Long.parseLong(args[2]));
            case "check" -> check(args[0]);
            case "count" -> count();
            case "set" -> set(args[0], args[1], args[2]);
            case "remove" -> remove(args[0]);
            case "scan" -> scan(args[0], args[1], args[2]);
            case "split" -> split(args[0]);
            case "move" -> move();
            case "regions" -> regions();
            case "tables" -> tables();
            default -> throw new IllegalArgumentException("no command " + command);
        }
    }

    /** create TABLE FAMILY [SPLIT ...] */
    private void create(String family, String[] splits) throws Exception {
        var table = TableDescriptorBuilder.newBuilder(name)
                .setColumnFamily(ColumnFamilyDescriptorBuilder.of(family)).build();
        if (splits.length == 0) {
            admin.createTable(table);
        } else {
            admin.createTable(table, Arrays.stream(splits).map(Client::bytes).toArray(byte[][]::new));
        }
    }

    private void drop() throws Exception {
        if (admin.tableExists(name)) {
            admin.disableTable(name);
            admin.deleteTable(name);
        }
    }

    /** load TABLE FAMILY FIRST COUNT: as `ycsb load` with hashed keys. */
    private void load(String family, long first, long count) throws Exception {
        try (var mutator = connection.getBufferedMutator(name)) {
            for (long number = first; number < first + count; number++) {
                String key = "user" + hash(number);
                Put put = new Put(bytes(key));
                for (int i = 0; i < FIELDS; i++) {
                    String field = "field" + i;
                    put.addColumn(bytes(family), bytes(field), bytes(value(key, field)));
                }
                mutator.mutate(put);
            }
        }
        System.out.println(count + " rows");
    }

    /** check TABLE FAMILY: reads everything; fails if a value does not match its key and field. */
    private void check(String family) throws Exception {
        long rows = 0;
        long values = 0;
        try (Table table = connection.getTable(name);
                var results = table.getScanner(new Scan().setCaching(500))) {
            for (Result result : results) {
                String key = text(result.getRow());
                rows++;
                for (var pair : result.getFamilyMap(bytes(family)).entrySet()) {
                    String field = text(pair.getKey());
                    String found = text(pair.getValue());
                    if (!found.equals(value(key, field))) {
                        throw new IllegalStateException(key + " " + field + ": " + found);
                    }
                    values++;
                }
            }
        }
        System.out.println(rows + " rows, " + values + " values");
    }

    /** count TABLE: the number of its rows. */
    private void count() throws Exception {
        long rows = 0;
        try (Table table = connection.getTable(name);
                var results = table.getScanner(new Scan().setCaching(500))) {
            for (Result result : results) {
                rows++;
            }
        }
        System.out.println(rows);
    }

    /**
     * scan TABLE PREFIX COLUMNS COLUMN_PREFIX: the number of rows and values that a scan returns;
     * `-` leaves an argument out. Columns are separated by commas, and of the first family.
     */
    private void scan(String prefix, String columns, String columnPrefix) throws Exception {
        byte[] family = admin.getDescriptor(name).getColumnFamilies()[0].getName();
        Scan scan = new Scan();
        if (!prefix.equals("-")) {
            scan.setStartStopRowForPrefixScan(bytes(prefix));
        }
        if (!columns.equals("-")) {
            for (String column : columns.split(",")) {
                scan.addColumn(family, bytes(column));
            }
        }
        if (!columnPrefix.equals("-")) {
            scan.setFilter(new ColumnPrefixFilter(bytes(columnPrefix)));
        }
        long rows = 0;
        long values = 0;
        try (Table table = connection.getTable(name); var results = table.getScanner(scan)) {
            for (Result result : results) {
                rows++;
                values += result.size();
            }
        }
        System.out.println(rows + " rows, " + values + " values");
    }

    /** set TABLE KEY QUALIFIER VALUE: sets a column of a row, in the first family of the table. */
    private void set(String key, String qualifier, String value) throws Exception {
        byte[] family = admin.getDescriptor(name).getColumnFamilies()[0].getName();
        try (Table table = connection.getTable(name)) {
            table.put(new Put(bytes(key)).addColumn(family, bytes(qualifier), bytes(value)));
        }
    }

    /** remove TABLE KEY: removes a row. */
    private void remove(String key) throws Exception {
        try (Table table = connection.getTable(name)) {
            table.delete(new Delete(bytes(key)));
        }
    }

    /** split TABLE KEY: returns when both halves are open. */
    private void split(String key) throws Exception {
        int before = locations().size();
        admin.split(name, bytes(key));
        await("a split", () -> locations().size() == before + 1 && admin.isTableAvailable(name));
        regions();
    }

    /** move TABLE: moves each region to another region server; returns when they are there. */
    private void move() throws Exception {
        List<ServerName> servers = new ArrayList<>(admin.getRegionServers());
        List<HRegionLocation> before = locations();
        for (HRegionLocation location : before) {
            ServerName other = servers.stream()
                    .filter(server -> !server.equals(location.getServerName())).findFirst().orElseThrow();
            admin.move(location.getRegion().getEncodedNameAsBytes(), other);
        }
        await("a move", () -> {
            List<HRegionLocation> now = locations();
            return now.size() == before.size()
                    && now.stream().noneMatch(moved -> before.stream().anyMatch(was ->
                            was.getRegion().equals(moved.getRegion())
                                    && was.getServerName().equals(moved.getServerName())));
        });
        regions();
    }

    /** regions TABLE: the first key and the server of each region. */
    private void regions() throws Exception {
        for (HRegionLocation location : locations()) {
            System.out.println("region " + text(location.getRegion().getStartKey()) + " on "
                    + location.getServerName());
        }
    }

    /** tables ANY: the names of all tables. */
    private void tables() throws Exception {
        for (TableName table : admin.listTableNames()) {
            System.out.println(table);
        }
    }

    private List<HRegionLocation> locations() throws Exception {
        try (var locator = connection.getRegionLocator(name)) {
            locator.clearRegionLocationCache();
            return locator.getAllRegionLocations().stream()
                    .filter(location -> !location.getRegion().isOffline()).toList();
        }
    }

    private interface Condition {
        boolean holds() throws Exception;
    }

    private static void await(String what, Condition condition) throws Exception {
        for (int i = 0; i < 600; i++) {
            if (condition.holds()) {
                return;
            }
            Thread.sleep(100);
        }
        throw new IllegalStateException(what + " takes longer than a minute");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** YCSB's Utils.hash: FNV-1a of eight octets, without its sign. */
    private static long hash(long number) {
        long hash = 0xCBF29CE484222325L;
        for (int i = 0; i < 8; i++) {
            hash = (hash ^ (number & 0xff)) * 1099511628211L;
            number >>= 8;
        }
        return Math.abs(hash);
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
