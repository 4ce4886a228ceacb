import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/** An in-memory binding that misbehaves as its properties say: odd.PLACE=DEED. */
public final class Odd extends DB {
  private static final ConcurrentSkipListMap<String, Map<String, byte[]>> ROWS =
      new ConcurrentSkipListMap<>();
  private static final AtomicInteger UPDATES = new AtomicInteger();
  private static final AtomicInteger OPEN = new AtomicInteger();
  private boolean closed;

  @Override
  public void init() throws DBException {
    OPEN.incrementAndGet();
    act("init");
  }

  @Override
  public void cleanup() throws DBException {
    if (closed) {
      System.err.println("cleaned up twice");
    }
    closed = true;
    if (OPEN.decrementAndGet() == 0) {
      System.out.println("all are closed, " + ROWS.size() + " rows");
    }
    act("cleanup");
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> into) {
    Map<String, byte[]> row = ROWS.get(table + "/" + key);
    if (row == null) {
      return Status.NOT_FOUND;
    }
    fill(row, fields, into);
    if (getProperties().getProperty("odd.read", "").equals("spoil")) {
      into.put(into.keySet().iterator().next(), new ByteArrayByteIterator(new byte[] {'x'}));
    }
    return Status.OK;
  }

  @Override
  public Status scan(String table, String key, int limit, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> into) {
    for (Map<String, byte[]> row : ROWS.tailMap(table + "/" + key, true).values()) {
      if (into.size() == limit) {
        break;
      }
      HashMap<String, ByteIterator> one = new HashMap<>();
      fill(row, fields, one);
      into.add(one);
    }
    return Status.OK;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    String deed = getProperties().getProperty("odd.update", "");
    int count = UPDATES.incrementAndGet();
    switch (deed) {
      case "halt":
        if (count == 20) {
          System.err.println("java.lang.OutOfMemoryError: as in a test");
          Runtime.getRuntime().halt(3);
        }
        break;
      case "throw":
        throw new IllegalStateException("not\ntoday");
      case "null":
        return null;
      case "sleep":
        try {
          Thread.sleep(5);
        } catch (InterruptedException stopped) {
          return Status.ERROR;
        }
        break;
      case "own":
        return new Status("LATER", "come again");
      default:
    }
    Map<String, byte[]> row = ROWS.get(table + "/" + key);
    if (row == null) {
      return Status.NOT_FOUND;
    }
    Map<String, byte[]> changed = new HashMap<>(row);
    values.forEach((name, value) -> changed.put(name, value.toArray()));
    ROWS.put(table + "/" + key, changed);
    return deed.equals("batched") ? Status.BATCHED_OK : Status.OK;
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    Map<String, byte[]> row = new HashMap<>();
    values.forEach((name, value) -> row.put(name, value.toArray()));
    return ROWS.putIfAbsent(table + "/" + key, row) == null ? Status.OK : Status.UNEXPECTED_STATE;
  }

  @Override
  public Status delete(String table, String key) {
    return ROWS.remove(table + "/" + key) == null ? Status.NOT_FOUND : Status.OK;
  }

  private static Status fill(Map<String, byte[]> row, Set<String> fields,
      Map<String, ByteIterator> into) {
    row.forEach((name, value) -> {
      if (fields == null || fields.contains(name)) {
        into.put(name, new ByteArrayByteIterator(value));
      }
    });
    return Status.OK;
  }

  private void act(String place) throws DBException {
    switch (getProperties().getProperty("odd." + place, "")) {
      case "fail":
        throw new DBException("odd " + place);
      case "exit":
        System.exit(7);
        break;
      default:
    }
  }
}
