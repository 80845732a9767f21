package sidefile

import (
	"errors"
	"io"
	"regexp"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// beginnings are those of files that say in which order operators ran or who feeds whom.
// The first that fits says what a file is.
var beginnings = []struct {
	role Role
	form func() *regexp.Regexp
}{
	{ConsumersFile, lang.Pattern(`^\(`)},                                                // a pickle of text
	{ConsumersFile, lang.Pattern(`^\{\s*(?:\}|"(?:[^"\\]|\\.)*"\s*:\s*\[\s*["\]])`)},    // lists of names
	{FusionFile, lang.Pattern(`^\{`)},                                                   // other JSON
	{IRFile, lang.Pattern(`(?m)^(?:# ?IR entry|subgraph |[ \t]*%\d+\()`)},               // text of MindSpore
	{FusionFile, lang.Pattern(`^(?:#[^\n]*\s+)*[a-z_]+[ \t]*(?:\{|:[ \t]*["\dA-Z_-])`)}, // text of protobuf
	{ExecutionFile, lang.Pattern(`^[^\x00]+$`)},
}

// Recognise says by the content of a file what it is: an execution order, a map of
// consumers, the graph of the NPU's compiler, or a graph of MindSpore or a folder of them.
func Recognise(path string) (Role, error) {
	info, err := store.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.IsDir() || strings.HasSuffix(path, ".pb") {
		return IRFile, nil
	}
	head := make([]byte, 16<<10)
	err = safefile.Read(path, func(file safefile.Input) error {
		n, err := io.ReadFull(file, head)
		head = head[:n]
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\ufeff"), " \t\r\n")
	if strings.HasPrefix(text, "\x80") { // a pickle
		return ConsumersFile, nil
	}
	for _, b := range beginnings {
		if b.form().MatchString(text) {
			return b.role, nil
		}
	}
	return 0, errors.New("neither an execution order nor a map of consumers nor a graph")
}
