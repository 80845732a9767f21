package report

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dumptool/internal/compare"
)

// rowLabel names a row as tables do: the operator alone for its output 0, with
// the number of the output behind it for others.
func rowLabel(r *compare.Row) string {
	switch {
	case r.Kind == "input":
		return r.Op + ":input:" + strconv.Itoa(r.Output)
	case r.Output > 0:
		return r.Op + ":" + strconv.Itoa(r.Output)
	}
	return r.Op
}

// CompareLabels names every row of a report as cpu_vs_npu.csv does: NAME, NAME:k
// for outputs but the first, NAME:input:k for inputs, and @ROUND behind it where
// several rounds have the same name. Rows that are called alike even so, such as
// two operators of the NPU with one origin, tell the NPU's name too.
func CompareLabels(r *compare.Report) []string {
	labels := make([]string, len(r.Rows))
	uses := map[string]int{}
	for i := range r.Rows {
		labels[i] = rowLabel(&r.Rows[i])
		uses[labels[i]]++
	}
	for i := range r.Rows {
		if round := r.Rows[i].Round; round != "" && uses[labels[i]] > 1 {
			labels[i] += "@" + round
		}
	}
	uses = map[string]int{}
	for _, label := range labels {
		uses[label]++
	}
	for i := range r.Rows {
		if npu := r.Rows[i].NPUOp; npu != "" && uses[labels[i]] > 1 {
			labels[i] += " (" + npu + ")"
		}
	}
	return labels
}

// guard keeps a name in a CSV file from being taken for a formula.
func guard(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + printable(name)
	}
	return printable(name)
}

// printable is a text in which U+FFFD stands for what is no UTF-8.
func printable(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// maxStem is the most bytes of a file name without its extension.
const maxStem = 200

// reservedStems are the names of the files that stand beside those of operators.
var reservedStems = []string{"cpu_vs_npu", "op_config", "op_names", "op_perf", "compare", "md5", "perf", "msaccucmp", "result", "baseline",
	"junit", "summary", "check_skip", "concate_skip", "compare_skip", "invalid_out_nodename", "dump_memory_nodename",
	"node_runtime", "consumer_map_dict", "skip_file_dict", "skip_perf_dict"}

// FileNames gives operators names of files that every file system takes, each
// once. The same names in the same order have the same files.
type FileNames struct {
	taken map[string]int // folded stem to the last number tried behind it
	pairs [][2]string    // stem and name
}

// NewFileNames returns names that avoid those of the other report files.
func NewFileNames() *FileNames {
	f := &FileNames{taken: map[string]int{}}
	for _, stem := range reservedStems {
		f.taken[fold(stem)] = 1
	}
	return f
}

// Stem returns the name of the files of an operator, without an extension: the
// operator's name with / \ : * ? " < > | and control characters replaced by _.
// Names of more than 200 bytes are cut and end in a hash; a name that is taken,
// in any letter case, gets ~2, ~3 and so on.
func (f *FileNames) Stem(name string) string {
	base := safeStem(name)
	stem := base
	if n := f.taken[fold(base)]; n > 0 {
		for {
			n++
			stem = base + "~" + strconv.Itoa(n)
			if f.taken[fold(stem)] == 0 {
				break
			}
		}
		f.taken[fold(base)] = n
	}
	f.taken[fold(stem)] = 1
	f.pairs = append(f.pairs, [2]string{stem, name})
	return stem
}

// Candidate returns the n-th name, from 1, that Stem may give an operator, and
// whether it has not given it to any.
func (f *FileNames) Candidate(name string, n int) (stem string, free bool) {
	stem = safeStem(name)
	if n > 1 {
		stem += "~" + strconv.Itoa(n)
	}
	return stem, f.taken[fold(stem)] == 0
}

// WriteTable writes op_names.csv: which file is whose.
func (f *FileNames) WriteTable(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"file", "op_name"}}
	for _, p := range f.pairs {
		lines = append(lines, []string{guard(p[0] + ".csv"), guard(p[1])})
	}
	return out.WriteAll(lines)
}

// fold makes equal what a file system that ignores letter case takes for equal.
func fold(stem string) string { return strings.ToLower(strings.ToUpper(stem)) }

// safeStem replaces what file names cannot hold and cuts what is too long.
func safeStem(name string) string {
	stem := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == utf8.RuneError || strings.ContainsRune(`/\:*?"<>|`, c) {
			return '_'
		}
		return c
	}, name)
	if strings.Trim(stem, ".") == "" {
		stem += "_"
	}
	if len(stem) <= maxStem {
		return stem
	}
	sum := sha256.Sum256([]byte(name))
	hash := "_" + hex.EncodeToString(sum[:4])
	end := maxStem - len(hash)
	for !utf8.RuneStart(stem[end]) {
		end--
	}
	return stem[:end] + hash
}
