# made.awk - parts of a Markdown file that a command makes: replaces what stands between
#   <!-- made by: COMMAND -->  and  <!-- /made -->
# by what COMMAND prints now.
{ if (!inside) print }
/^<!-- made by: .* -->$/ {
    inside = 1
    command = substr($0, 15, length($0) - 18)
    while ((command | getline line) > 0) print line
    if (close(command) != 0) {
        print "made.awk: failed: " command > "/dev/stderr"
        failed = 1
    }
    next
}
inside && /^<!-- \/made -->$/ {
    inside = 0
    print
}
END { exit failed || inside }
