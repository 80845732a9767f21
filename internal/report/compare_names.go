package report

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// rowLabel returns a row's label in tables: the operator for its output 0, else the operator with
// the number of the output.
func rowLabel(r *record.Row) string {
	switch {
	case r.Kind != "" && r.Kind != string(tensor.Output):
		return r.Op + ":" + r.Kind + ":" + strconv.Itoa(r.Output)
	case r.Output > 0:
		return r.Op + ":" + strconv.Itoa(r.Output)
	}
	return r.Op
}

// CompareLabels returns the label of every row as in cpu_vs_npu.csv: NAME, NAME:k for outputs but
// the first, NAME:input:k for inputs, and @ROUND behind it if several rounds have the same name.
// Rows with equal labels, such as two NPU operators with one origin, also have the NPU's name.
func CompareLabels(r *record.Report) []string {
	names, labels := labelsOf(r), make([]string, r.Len())
	for i, row := range r.AllRows() {
		labels[i] = names.labelOf(row)
	}
	return labels
}

// labels makes unique labels of rows.
type labels struct {
	// shared holds the names shared by several rows, still the names that several rows share in one
	// round.
	shared, sharedInRound map[string]bool
}

// labelsOf prepares the labels of a report's rows.
func labelsOf(r *record.Report) *labels {
	r = r.Full() // labels must agree in all reports of a run
	n := new(labels)
	n.shared = repeatedNames(r, rowLabel)
	if len(n.shared) > 0 {
		n.sharedInRound = repeatedNames(r, n.nameInRound)
	}
	return n
}

// repeatedNames returns the names that several rows have.
func repeatedNames(r *record.Report, name func(*record.Row) string) map[string]bool {
	seen, repeated := map[string]bool{}, map[string]bool{}
	for _, row := range r.AllRows() {
		label := name(row)
		if seen[label] {
			repeated[label] = true
		}
		seen[label] = true
	}
	return repeated
}

// nameInRound returns a row's name, with its round if several rows share the name.
func (n *labels) nameInRound(row *record.Row) string {
	label := rowLabel(row)
	if row.Round != "" && n.shared[label] {
		label += "@" + row.Round
	}
	return label
}

// labelOf returns the label of a row.
func (n *labels) labelOf(row *record.Row) string {
	label := n.nameInRound(row)
	if row.NPUOp != "" && n.sharedInRound[label] {
		label += " (" + row.NPUOp + ")"
	}
	return label
}

// maxStem is the longest file name without extension, in bytes.
const maxStem = 200

// reservedStems lists names of files, other than reports, that may lie beside operators' files.
var reservedStems = []string{"op_config", "op_names", "op_perf", "md5", "perf", "msaccucmp", "result", "baseline", "summary", "check_skip", "concate_skip", "compare_skip", "invalid_out_nodename", "dump_memory_nodename",
	"node_runtime", "consumer_map_dict", "skip_file_dict", "skip_perf_dict"}

// FileNames assigns file names to operators: unique, and valid on every file system. The same names
// in the same order get the same files.
type FileNames struct {
	taken map[string]int // folded stem to the highest suffix tried
	pairs [][2]string    // stem and name
}

// NewFileNames returns file names that avoid other report files.
func NewFileNames() *FileNames {
	f := &FileNames{taken: map[string]int{}}
	for _, stem := range reservedStems {
		f.taken[foldCase(stem)] = 1
	}
	for _, file := range FilesOf[*record.Report]() {
		f.taken[foldCase(strings.TrimSuffix(file, filepath.Ext(file)))] = 1
	}
	return f
}

// Stem returns the file name of an operator without extension: the operator's name with / \ : * ? "
// < > |, control and invisible characters replaced by _. Names over 200 bytes are cut and end in a
// hash; a name in use, ignoring case, gets ~2, ~3 and so on.
func (f *FileNames) Stem(name string) string {
	base := safeStem(name)
	stem := base
	if n := f.taken[foldCase(base)]; n > 0 {
		for {
			n++
			stem = base + "~" + strconv.Itoa(n)
			if f.taken[foldCase(stem)] == 0 {
				break
			}
		}
		f.taken[foldCase(base)] = n
	}
	f.taken[foldCase(stem)] = 1
	f.pairs = append(f.pairs, [2]string{stem, name})
	return stem
}

// opNamesFile is the file with the table of FileNames.
const opNamesFile = "op_names.csv"

// WriteTable writes op_names.csv: the operator of each file.
func (f *FileNames) WriteTable(w io.Writer) error {
	return Table[[2]string]{Rows: f.pairs, Columns: []Column[[2]string]{
		textColumn("file", func(p [2]string) string { return p[0] + ".csv" }),
		textColumn("op_name", func(p [2]string) string { return p[1] }),
	}}.CSV(w)
}

// foldCase returns equal texts for names that are equal ignoring case.
func foldCase(stem string) string { return strings.ToLower(strings.ToUpper(stem)) }

// safeStem replaces characters that file names cannot contain and cuts long names.
func safeStem(name string) string {
	stem := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) && !unicode.Is(unicode.Zs, c) || c == utf8.RuneError || strings.ContainsRune(`/\:*?"<>|`, c) {
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
