package lang

import (
	"regexp"
	"sync"
)

// Pattern returns a regular expression that is compiled when it is needed first:
// a command needs few of the program's, and all of them would delay its start. It
// panics then for one that has an error, as regexp.MustCompile does.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
