// Tomcat 10 with a servlet for each path. Run with `java -cp tomcat10-embed-core.jar:... TomcatApp.java`.
// Prints the port as JSON; ends with its standard input. HANDLERS is "name method path" with line ends between.
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

public class TomcatApp {
    static final class Page extends HttpServlet {
        private final Map<String, String> names;

        Page(Map<String, String> names) {
            this.names = names;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            String method = request.getMethod().equals("HEAD") ? "GET" : request.getMethod();
            String name = names.get(method);
            if (name == null) {
                response.setStatus(405);
                return;
            }
            response.setHeader("X-Handler", name);
            response.getWriter().print("ok");
        }
    }

    public static void main(String[] given) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("tomcat").toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.setSilent(true);
        Context context = tomcat.addContext("", null);
        Map<String, Map<String, String>> byPath = new HashMap<>();
        for (String line : System.getenv("HANDLER_LINES").split("\n")) {
            String[] parts = line.split(" ");
            byPath.computeIfAbsent(parts[2], path -> new HashMap<>()).put(parts[1], parts[0]);
        }
        byPath.forEach((path, names) -> {
            Tomcat.addServlet(context, path, new Page(names));
            // "" is the mapping of the root alone; "/" would be that of everything.
            context.addServletMappingDecoded(path.equals("/") ? "" : path, path);
        });
        tomcat.start();
        System.out.println("{\"tomcat\": " + tomcat.getConnector().getLocalPort() + "}");
        System.in.readAllBytes();
        Runtime.getRuntime().halt(0);
    }
}
