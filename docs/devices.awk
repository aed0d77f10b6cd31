# devices.awk - what a CUDA device computes of each method of `csrecover --list`, as a Markdown table.
BEGIN { print "| method | on a CUDA device |\n| --- | --- |" }
/^[A-Z]/ { inside = index($0, "Methods") == 1 }
inside && /^  [a-z]/ { name = $1 }
inside && /^    --backend cuda: / {
    sub(/^    --backend cuda: /, "")
    gsub(/\|/, "\\|")
    printf "| `%s` | %s |\n", name, $0
}
