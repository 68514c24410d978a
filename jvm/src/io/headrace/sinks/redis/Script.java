package io.headrace.sinks.redis;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * What Redis is asked to do in one step that nothing can come between.
 *
 * <p>The ledger of a sink is one hash, {@code KEYS[1]}, with three fields for each lane: its owner,
 * the owner's epoch, and the record of its last batch. Where a script wants the lane's owner, its
 * first two arguments are the lane and the token, and it answers {@code {0, epoch}} if the owner is
 * another, with an epoch of -1 where there is none.
 */
enum Script {
    /** Makes a token the owner of a lane; gives its epoch and the lane's last record. */
    CLAIM(
            """
            local lane, token = ARGV[1], ARGV[2]
            local epoch = redis.call('HINCRBY', KEYS[1], lane .. '.epoch', 1)
            redis.call('HSET', KEYS[1], lane .. '.owner', token)
            return {epoch, redis.call('HGET', KEYS[1], lane .. '.record')}
            """),

    /** Writes the lane's record. */
    COMMIT(
            Script.OWNED
                    + """
            redis.call('HSET', KEYS[1], ARGV[1] .. '.record', ARGV[3])
            return {1, 0}
            """),

    /**
     * Puts rows in the place of what their keys have, or takes them away.
     *
     * <p>The keys follow the ledger's. The arguments are: lane, token, kind (hash or json), time to
     * live in milliseconds or 0, and the field of the version or nothing. For each key follow the
     * number of its parts, or -1 to take it away; with versions, {@code >} and the version, or
     * {@code =} and the version where it is not to be compared; and the parts: fields and values
     * in turns, or the text.
     *
     * <p>Gives how many rows were left out because of their version.
     */
    APPLY(
            Script.OWNED
                    + """
            local hash, ttl, guard = ARGV[3] == 'hash', tonumber(ARGV[4]), ARGV[5]
            -- A server that is full or must not write says so here, before a row is touched.
            redis.call('HSET', KEYS[1], ARGV[1] .. '.owner', ARGV[2])

            local function version_key(key)
              return 'headrace:version:' .. key
            end
            local function stored(key)
              if not hash then return redis.call('GET', version_key(key)) end
              local held = redis.pcall('HGET', key, guard)
              return type(held) == 'string' and held
            end
            local function is_newer(one, other)
              local whole = '^%-?%d+$'
              if not (string.find(one, whole) and string.find(other, whole)) then
                return one > other
              end
              local below, other_below = one:sub(1, 1) == '-', other:sub(1, 1) == '-'
              if below ~= other_below then return other_below end
              if below then one, other = other, one end
              if #one ~= #other then return #one > #other end
              return one > other
            end
            local function put(key, from, to)
              if hash then
                redis.call('DEL', key)
                -- Lua hands over no more than some thousand values at once.
                for first = from, to, 2000 do
                  redis.call('HSET', key, unpack(ARGV, first, math.min(first + 1999, to)))
                end
                if ttl > 0 then redis.call('PEXPIRE', key, ttl) end
              elseif ttl > 0 then
                redis.call('SET', key, ARGV[from], 'PX', ttl)
              else
                redis.call('SET', key, ARGV[from])
              end
            end
            local function note(key, version)
              if ttl > 0 then
                redis.call('SET', version_key(key), version, 'PX', ttl)
              else
                redis.call('SET', version_key(key), version)
              end
            end

            local at, older, guarded = 6, 0, guard ~= ''
            for number = 2, #KEYS do
              local key, parts = KEYS[number], tonumber(ARGV[at])
              at = at + 1
              if parts < 0 then
                redis.call('DEL', key)
                if guarded and not hash then redis.call('DEL', version_key(key)) end
              else
                local keep = true
                if guarded then
                  local sign, version = ARGV[at]:sub(1, 1), ARGV[at]:sub(2)
                  at = at + 1
                  local held = sign == '>' and stored(key)
                  keep = not held or is_newer(version, held)
                  if keep and not hash then note(key, version) end
                end
                if keep then put(key, at, at + parts - 1) else older = older + 1 end
                at = at + parts
              end
            end
            return {1, older}
            """),

    /**
     * Puts other records in the place of all, and leaves no lane an owner.
     *
     * <p>The arguments are a number, so many pairs of lane and record that must be all there are,
     * and pairs of lane and record that are to be there.
     */
    EXCHANGE(
            """
            local seen, known, at = {}, 0, 2
            for _ = 1, tonumber(ARGV[1]) do
              seen[ARGV[at] .. '.record'] = ARGV[at + 1]
              known, at = known + 1, at + 2
            end
            local held = redis.call('HGETALL', KEYS[1])
            for i = 1, #held, 2 do
              if held[i]:sub(-7) == '.record' then
                if seen[held[i]] ~= held[i + 1] then return {0, 0} end
                known = known - 1
              end
            end
            if known ~= 0 then return {0, 0} end
            for i = 1, #held, 2 do
              if held[i]:sub(-6) ~= '.epoch' then redis.call('HDEL', KEYS[1], held[i]) end
            end
            for i = at, #ARGV, 2 do
              redis.call('HSET', KEYS[1], ARGV[i] .. '.record', ARGV[i + 1])
            end
            return {1, 0}
            """);

    private static final String OWNED =
            """
            local owner = redis.call('HGET', KEYS[1], ARGV[1] .. '.owner')
            if owner ~= ARGV[2] then
              return {0, tonumber(redis.call('HGET', KEYS[1], ARGV[1] .. '.epoch') or -1)}
            end
            """;

    private final byte[] text;
    private final byte[] digest;

    Script(String text) {
        this.text = text.getBytes(StandardCharsets.UTF_8);
        try {
            byte[] sha1 = MessageDigest.getInstance("SHA-1").digest(this.text);
            this.digest = HexFormat.of().formatHex(sha1).getBytes(StandardCharsets.US_ASCII);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    byte[] text() {
        return text;
    }

    /** The name under which Redis remembers it. */
    byte[] digest() {
        return digest;
    }
}
