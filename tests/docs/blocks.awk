# blocks.awk - cuts the fenced blocks of a Markdown file into files: -v out=FOLDER. Prints a line for
# each: language, line number, file, and the reason of a "not run" comment just above, if any.
/^<!-- not run: .* -->$/ {
    reason = substr($0, 15, length($0) - 18)
    next
}
!inside && /^```[a-z]/ {
    inside = 1
    language = substr($0, 4)
    name = sprintf("%s/%04d.%s", out, NR, language)
    printf "" > name
    printf "%s\t%d\t%s\t%s\n", language, NR, name, reason
    next
}
inside && /^```$/ {
    inside = 0
    reason = ""
    close(name)
    next
}
inside { print > name }
!inside && NF { reason = "" }
