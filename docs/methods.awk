# methods.awk - a part of `csrecover --list` (-v part=Solvers, -v part=Bases) as a Markdown table.
function cell(text) {
    gsub(/\|/, "\\|", text)
    return text
}
function finish() {
    if (name != "") printf "| `%s` | %s | %s |\n", name, cell(brief), params == "" ? "none" : params
    name = ""
}
/^[A-Z]/ {
    finish()
    inside = index($0, part) == 1
    if (inside && !headed++) print "| name | what it does | `--set`, with defaults |\n| --- | --- | --- |"
    next
}
inside && /^    --set / {
    params = params (params == "" ? "" : ", ") "`" $2 "`"
    next
}
inside && /^  [a-z]/ {
    finish()
    name = $1
    brief = $0
    sub(/^  [^ ]+ +/, "", brief)
    params = ""
}
END { finish() }
