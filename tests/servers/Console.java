import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Reads commands from standard input until it ends: one per line, with words separated by tabs. A
 * line after the output of a command reports how it ended; {@code console.rs} reads that.
 */
interface Console {
    interface Command {
        void run(String[] words) throws Exception;
    }

    static void serve(Command command) throws IOException {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String ended = "\u0004 done";
            try {
                command.run(line.split("\t"));
            } catch (Exception exception) {
                exception.printStackTrace(System.out);
                ended = "\u0004 failed";
            }
            System.out.println(ended);
            System.out.flush();
        }
    }
}
