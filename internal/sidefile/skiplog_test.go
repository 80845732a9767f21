package sidefile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadSkipLog(t *testing.T) {
	t.Parallel()
	text := "\ufeffconv1\tBAD_HEX\timport: line 1\twith a tab\r\n" +
		"a line of the vendor\n\tBAD_HEX\tno name\nrelu\tbad hex\tno code\nfc\tCONCAT_SHAPE\t\n\nlast\tREAD_ERROR\tgone"
	lines, err := ReadSkipLog(strings.NewReader(text), CheckSkipName)
	want := []SkipLine{
		{CheckSkipName, "conv1", "BAD_HEX", "import: line 1\twith a tab"},
		{CheckSkipName, "fc", "CONCAT_SHAPE", ""},
		{CheckSkipName, "last", "READ_ERROR", "gone"},
	}
	if err != nil || !slices.Equal(lines, want) {
		t.Fatalf("%q, %v, want %q", lines, err, want)
	}
	if !lines[0].IsImport() || lines[1].IsImport() {
		t.Error("the mark of imports is not known")
	}
	if lines, err := ReadSkipLog(errReader{}, CheckSkipName); err == nil || lines != nil {
		t.Errorf("%q, %v of a broken file", lines, err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, os.ErrInvalid }

func TestReadNames(t *testing.T) {
	t.Parallel()
	names, err := ReadNames(strings.NewReader("\ufeffnet/a\r\n\n  b c \nnet/a"))
	if want := []string{"net/a", "b c", "net/a"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v, want %q", names, err, want)
	}
	if names, err := ReadNames(errReader{}); err == nil {
		t.Errorf("%q of a broken file", names)
	}
}

// TestLogsOfFolders checks which lines count: all lines of a given folder, only lines of imports in
// the folder of HPAA's files.
func TestLogsOfFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for folder, text := range map[string]string{"result": "a\tBAD_HEX\timport: x\nb\tSIZE_MISMATCH\tours\n", "logs": "c\tBAD_HEX\tby hand\n"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{CheckSkipName, InvalidOutName} {
			if err := os.WriteFile(filepath.Join(dir, folder, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	result, logs := filepath.Join(dir, "result"), filepath.Join(dir, "logs")
	for _, tt := range []struct {
		files         Files
		skipped, kept string
	}{
		{Files{}, "", ""},
		{Files{Folder: result}, "a", "aa"},
		{Files{Folder: result, Logs: logs}, "c", "aa"},
		{Files{Folder: result, Logs: result}, "ab", "aa"},
		{Files{Logs: result}, "ab", ""},
	} {
		in, err := tt.files.Load()
		if err != nil || len(in.Problems) > 0 {
			t.Fatalf("%v, %v", err, in.Problems)
		}
		if got, want := names(in.Skipped)+" "+names(in.Kept), tt.skipped+" "+tt.kept; got != want {
			t.Errorf("%+v: %q, want %q", tt.files, got, want)
		}
	}
	if _, err := (&Files{Logs: filepath.Join(dir, "none")}).Load(); err == nil || !strings.HasPrefix(err.Error(), "--result: ") {
		t.Errorf("no folder: %v", err)
	}
}

func names(lines []SkipLine) string {
	text := ""
	for _, l := range lines {
		text += l.Name
	}
	return text
}

func FuzzReadSkipLog(f *testing.F) {
	f.Add("conv1\tBAD_HEX\timport: line 1\r\n")
	f.Add("a\tB\tc\td\n\xff\t\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := ReadSkipLog(strings.NewReader(text), CheckSkipName)
		if err != nil {
			return // rejected text
		}
		var again strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&again, "%s\t%s\t%s\n", l.Name, l.Code, l.Text)
		}
		if same, err := ReadSkipLog(strings.NewReader("x\n"+again.String()), CheckSkipName); err != nil || !slices.Equal(same, lines) {
			t.Fatalf("%q, %v of %q", same, err, lines)
		}
	})
}
