package sidefile

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"dumptool/internal/lang"
)

// HPAA's names of the logs of tensors that are not compared.
const (
	CheckSkipName   = "check_skip.log"           // broken before their pieces were joined
	ConcateSkipName = "concate_skip.log"         // pieces that cannot be joined
	CompareSkipName = "compare_skip.log"         // all other tensors of the reference, and of both sides
	InvalidOutName  = "invalid_out_nodename.log" // names that the reference does not have
	NodeNamesName   = "dump_memory_nodename.log" // names of the pieces
)

// SkipLine is a line of a log: the name of a tensor, a reason code and a text.
type SkipLine struct {
	Log  string `json:"log"` // the name of the file
	Name string `json:"name"`
	Code string `json:"code"`
	Text string `json:"text"`
}

// ImportMark begins the text of lines about pieces, which an import writes. Comparisons keep these
// lines when they write logs with the same names.
const ImportMark = "import: "

// IsImport reports whether an import wrote the line.
func (l *SkipLine) IsImport() bool { return strings.HasPrefix(l.Text, ImportMark) }

// ReadSkipLog reads a log: lines of a name, a code and a text separated by tabs. Other lines, such
// as in logs of the vendor, are skipped.
func ReadSkipLog(r io.Reader, log string) ([]SkipLine, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, lang.Errorf("%s: %w", log, err)
	}
	var lines []SkipLine
	for line := range bytes.Lines(data) {
		parts := strings.SplitN(strings.TrimRight(string(line), "\r\n"), "\t", 3)
		if len(parts) == 3 && parts[0] != "" && isCode(parts[1]) {
			lines = append(lines, SkipLine{log, parts[0], parts[1], parts[2]})
		}
	}
	return lines, nil
}

// isCode reports whether a text has the form of a reason code.
func isCode(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// ReadNames reads names of nodes, one a line, and skips empty lines.
func ReadNames(r io.Reader) ([]string, error) {
	data, err := readAll(r)
	var names []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxSize)
	for lines.Scan() {
		if name := strings.TrimSpace(lines.Text()); name != "" {
			names = append(names, name)
		}
	}
	return names, err
}
