# arrays.awk - the arrays of a measurement file, from FILES of `csrecover --man`, as a Markdown table.
function plain(text) {
    gsub(/\\-/, "-", text)
    gsub(/\\f[BIR]/, "", text)
    return text
}
BEGIN { print "| array | type | meaning |\n| --- | --- | --- |" }
/^\.SH/ { inside = $0 == ".SH FILES" }
inside && row != "" {
    printf "%s | %s |\n", row, plain($0)
    row = ""
}
inside && /^\\fB/ {
    name = type = plain($0)
    sub(/ \(.*/, "", name)
    gsub(/, /, "`, `", name)
    sub(/^[^(]*\(/, "", type)
    sub(/\)$/, "", type)
    row = "| `" name "` | " type
}
