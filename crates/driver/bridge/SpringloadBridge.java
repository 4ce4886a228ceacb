// Hosts a YCSB binding for springload, which compiles and starts this file: docs/ycsb-java.md.
//
// Stdin has a frame with the binding's class, the table and the properties; the process ends when
// stdin is closed. On stdout it writes its port and two keys: each connection presents the first
// and gets the second, so that no other process on this machine can use the binding or answer in
// its place. Each connection has one thread and one DB object. A frame is its length and that many
// bytes, a text is its length and its bytes in UTF-8, and all numbers are big-endian.

import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.math.BigInteger;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.security.*;
import java.util.*;
import java.util.concurrent.*;
import site.ycsb.*;
import site.ycsb.measurements.Measurements;

public final class SpringloadBridge {
  /** The results of calls are numbered by this list; the three numbers after it are ours. */
  private static final List<String> STATUSES = List.of("OK", "ERROR", "NOT_FOUND",
      "NOT_IMPLEMENTED", "UNEXPECTED_STATE", "BAD_REQUEST", "FORBIDDEN", "SERVICE_UNAVAILABLE",
      "BATCHED_OK");
  private static final int OTHER = 9, THROWN = 10, TOO_LARGE = 11;
  /** The longest frame, in bytes, and the longest reason, in characters. */
  private static final int MOST = 64_000_000, MOST_TEXT = 500;
  private static final int KEY = 16;
  /** How long a stranger may take to present a key, and everything to end. */
  private static final int KEY_MS = 10_000, END_MS = 60_000;

  private static final byte[] KEYS = new byte[2 * KEY];
  private static final Set<Thread> THREADS = ConcurrentHashMap.newKeySet();
  private static final PrintStream OUT = System.out;
  private static final Properties PROPERTIES = new Properties();
  private static Class<? extends DB> binding;
  private static String table;

  private DB db;
  /** The answer to one request: nanoseconds inside the binding, results, rows. */
  private long nanos;
  private final ByteArrayOutputStream results = new ByteArrayOutputStream();
  private final ByteArrayOutputStream rows = new ByteArrayOutputStream();
  private int rowCount;
  private final Set<Integer> explained = new HashSet<>();

  public static void main(String[] arguments) throws Exception {
    // What the binding prints goes to stderr: stdout is for springload.
    System.setOut(System.err);
    DataInputStream config = frame(new DataInputStream(System.in));
    String name = text(config);
    table = text(config);
    for (int left = config.readInt(); left > 0; left--) {
      PROPERTIES.setProperty(text(config), text(config));
    }
    try {
      // Some bindings take measurements of their own, and fail without this.
      Measurements.setProperties(PROPERTIES);
      binding = Class.forName(name).asSubclass(DB.class);
    } catch (Throwable thrown) {
      tell("failed", thrown);
      System.exit(1);
    }
    new SecureRandom().nextBytes(KEYS);
    ServerSocket server = new ServerSocket(0, 65_536, InetAddress.getByName("127.0.0.1"));
    start(true, () -> {
      while (!server.isClosed()) {
        accept(server);
      }
      return null;
    });
    String keys = String.format("%064x", new BigInteger(1, KEYS));
    OUT.println("listening " + server.getLocalPort() + " " + keys + " "
        + System.getProperty("java.version"));
    while (System.in.read() >= 0) {
      // Until springload closes it, or is gone.
    }
    start(true, () -> {
      Thread.sleep(END_MS);
      Runtime.getRuntime().halt(1);
      return null;
    });
    server.close();
    for (Thread thread : THREADS) {
      thread.join();
    }
    System.exit(0);
  }

  private static void accept(ServerSocket server) throws Exception {
    Socket socket = null;
    try {
      Socket accepted = socket = server.accept();
      start(false, () -> new SpringloadBridge().serve(accepted));
    } catch (IOException | OutOfMemoryError none) {
      // Closed, or no room for another connection.
      if (socket != null) {
        socket.close();
      }
      Thread.sleep(10);
    }
  }

  private Void serve(Socket socket) throws Exception {
    try (socket) {
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(KEY_MS);
      DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      if (!MessageDigest.isEqual(in.readNBytes(KEY), Arrays.copyOf(KEYS, KEY))) {
        return null;
      }
      socket.setSoTimeout(0);
      ByteArrayOutputStream hello = new ByteArrayOutputStream();
      hello.write(KEYS, KEY, KEY);
      try {
        DB made = binding.getDeclaredConstructor().newInstance();
        made.setProperties(PROPERTIES);
        made.init();
        db = made;
        put(hello, "");
      } catch (Throwable thrown) {
        thrown.printStackTrace();
        put(hello, words(thrown));
      }
      OutputStream to = new BufferedOutputStream(socket.getOutputStream());
      DataOutputStream out = new DataOutputStream(to);
      send(out, hello);
      while (db != null) {
        send(out, answer(frame(in)));
      }
    } catch (IOException gone) {
      // springload has closed the connection, or it was not springload.
    } finally {
      try {
        if (db != null) {
          db.cleanup();
        }
      } catch (Throwable thrown) {
        tell("cleanup", thrown);
      }
      THREADS.remove(Thread.currentThread());
    }
    return null;
  }

  /** Carries out a request, which is about one record or inserts several. */
  private ByteArrayOutputStream answer(DataInputStream in) throws IOException {
    nanos = 0;
    results.reset();
    rows.reset();
    rowCount = 0;
    explained.clear();
    int kind = in.readUnsignedByte();
    int records = in.readInt();
    for (int left = records; left > 0; left--) {
      String key = text(in);
      int limit = in.readInt();
      Set<String> named = new HashSet<>();
      HashMap<String, ByteIterator> values = new HashMap<>();
      for (int fields = in.readInt(); fields > 0; fields--) {
        String name = text(in);
        named.add(name);
        values.put(name, new ByteArrayByteIterator(bytes(in)));
      }
      Set<String> wanted = named.isEmpty() ? null : named;
      HashMap<String, ByteIterator> row = new HashMap<>();
      Vector<HashMap<String, ByteIterator>> many = new Vector<>();
      switch (kind) {
        case 'r': call(() -> db.read(table, key, wanted, row), List.of(row)); break;
        case 's': call(() -> db.scan(table, key, limit, wanted, many), many); break;
        case 'u': call(() -> db.update(table, key, values), many); break;
        case 'i': call(() -> db.insert(table, key, values), many); break;
        case 'd': call(() -> db.delete(table, key), many); break;
        default: throw new EOFException("no request");
      }
    }
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(answer);
    out.writeLong(nanos);
    out.writeInt(records);
    results.writeTo(out);
    out.writeInt(rowCount);
    rows.writeTo(out);
    return answer;
  }

  /** Times one call of the binding, and keeps its result and the rows that it has filled in. */
  private void call(Callable<Status> call, List<HashMap<String, ByteIterator>> filled)
      throws IOException {
    int code = THROWN;
    String why = "the binding returned no status";
    try {
      Status status = timed(call);
      if (status != null) {
        code = STATUSES.indexOf(status.getName());
        code = code < 0 ? OTHER : code;
        why = line(status.getName() + ": " + status.getDescription());
      }
      for (int i = 0; code == 0 && i < filled.size(); i++) {
        keep(filled.get(i));
        if (rows.size() > MOST) {
          code = TOO_LARGE;
          why = "the rows have more than " + MOST + " bytes";
        }
      }
    } catch (Throwable thrown) {
      code = THROWN;
      why = words(thrown);
    }
    if (code != 0) {
      rows.reset();
      rowCount = 0;
    }
    results.write(code);
    // The first of each kind is enough.
    put(results, code != 0 && explained.add(code) ? why : "");
  }

  private Status timed(Callable<Status> call) throws Exception {
    long began = System.nanoTime();
    try {
      return call.call();
    } finally {
      nanos += System.nanoTime() - began;
    }
  }

  private void keep(HashMap<String, ByteIterator> row) throws IOException {
    new DataOutputStream(rows).writeInt(row.size());
    for (Map.Entry<String, ByteIterator> field : row.entrySet()) {
      put(rows, field.getKey());
      put(rows, field.getValue() == null ? new byte[0] : field.getValue().toArray());
    }
    rowCount++;
  }

  private static DataInputStream frame(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > MOST) {
      throw new EOFException("no frame");
    }
    return new DataInputStream(new ByteArrayInputStream(in.readNBytes(length)));
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > in.available()) {
      throw new EOFException("no text");
    }
    return in.readNBytes(length);
  }

  private static String text(DataInputStream in) throws IOException {
    return new String(bytes(in), StandardCharsets.UTF_8);
  }

  private static void put(ByteArrayOutputStream out, byte[] bytes) throws IOException {
    new DataOutputStream(out).writeInt(bytes.length);
    out.write(bytes);
  }

  private static void put(ByteArrayOutputStream out, String text) throws IOException {
    put(out, text.getBytes(StandardCharsets.UTF_8));
  }

  private static void send(DataOutputStream out, ByteArrayOutputStream bytes) throws IOException {
    out.writeInt(bytes.size());
    bytes.writeTo(out);
    out.flush();
  }

  private static String words(Throwable thrown) {
    Throwable cause = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
    return line(cause.toString());
  }

  private static String line(String text) {
    return text.substring(0, Math.min(text.length(), MOST_TEXT)).replaceAll("\\s+", " ");
  }

  private static void tell(String what, Throwable thrown) {
    thrown.printStackTrace();
    OUT.println(what + " " + words(thrown));
  }

  private static void start(boolean daemon, Callable<Void> work) {
    Thread thread = new Thread(new FutureTask<>(work));
    thread.setDaemon(daemon);
    if (!daemon) {
      THREADS.add(thread);
    }
    thread.start();
  }
}
