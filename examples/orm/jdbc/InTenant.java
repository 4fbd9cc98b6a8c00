import java.security.MessageDigest;
import java.sql.*;
import java.time.Instant;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import static java.nio.charset.StandardCharsets.UTF_8;

/** JDBC: a transaction in the caller's tenant, with a proof if there is a secret (docs/guides/context.md). */
class InTenant {
  interface Work<T> { T in(Connection c) throws Exception; }

  static String proof(String secret, String kind, String... values) throws Exception {
    var head = kind + "." + (Instant.now().getEpochSecond() + 30);
    var signed = new StringBuilder(head);
    for (var v : values) signed.append(v == null ? ",-" : "," + v.getBytes(UTF_8).length + ":" + v);
    var mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(MessageDigest.getInstance("SHA-256").digest(secret.getBytes(UTF_8)), "HmacSHA256"));
    return head + "." + HexFormat.of().formatHex(mac.doFinal(signed.toString().getBytes(UTF_8)));
  }

  /** A slow call belongs between two of these, not inside one. Auto-commit off is a transaction that is open already. */
  static <T> T inTenant(Connection c, String slug, String provider, String subject, Work<T> work) throws Exception {
    if (slug == null || slug.isEmpty()) throw new IllegalArgumentException("no tenant is named");
    if (!c.getAutoCommit()) throw new IllegalStateException("a transaction is open already");
    c.setAutoCommit(false);
    var secret = System.getenv("SERVICE_TENANT_CONTEXT_SECRET");
    var proof = secret == null ? "" : proof(secret, "caller", slug, provider, subject, null, null);
    try (var role = c.prepareStatement("select set_config('role', 'tms_app', true), set_config('app.proof', ?, true)");
        var enter = c.prepareStatement("select from app.enter_tenant(slug => ?, provider => ?, subject => ?)")) {
      role.setString(1, proof); role.execute();
      enter.setString(1, slug); enter.setString(2, provider); enter.setString(3, subject); enter.execute();
      var result = work.in(c);
      c.commit();
      return result;
    } catch (Throwable e) { c.rollback(); throw e; } finally { c.setAutoCommit(true); }
  }
}
