package shard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// written returns a text as Compress writes it.
func written(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	err := Compress(&b, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCompressed reads documents in both forms, and files that are no documents.
func TestCompressed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compare.json")
	const text = `{"schema": "dumptool/compare/1", "run_id": "a1", "rows": []}` + "\n"
	long := strings.Repeat(`{"padding": "of a long document"} `, 10_000)
	whole := written(t, text)
	wide := new(bytes.Buffer)
	z, err := zstd.NewWriter(wide, zstd.WithWindowSize(16*maxWindow))
	if err == nil {
		_, err = z.Write(bytes.Repeat([]byte(long), 100))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(whole)
	broken[len(broken)-1-sizeOfHead-sizeOfEntry-sizeOfFoot] ^= 1 // the checksum
	for name, tt := range map[string]struct {
		data []byte
		want string // part of the error, empty for none
	}{
		"plain":        {[]byte(text), ""},
		"compressed":   {whole, ""},
		"two frames":   {append(written(t, text[:20]), written(t, text[20:])...), ""},
		"cut":          {whole[:len(whole)-8], "truncated, or not a document"},
		"no table":     {whole[:len(whole)-sizeOfHead-sizeOfEntry-sizeOfFoot], ""},
		"cut before":   {whole[:len(whole)-sizeOfHead-sizeOfEntry-sizeOfFoot-1], "truncated, or not a document"},
		"its magic":    {whole[:4], "truncated, or not a document"},
		"broken":       {broken, "truncated, or not a document"},
		"empty":        {nil, "truncated, or not a document"},
		"a wide frame": {wide.Bytes(), "truncated, or not a document"},
		"no JSON":      {written(t, "text"), "truncated, or not a document"},
	} {
		if err := os.WriteFile(path, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := ReadOrigin(path)
		switch {
		case tt.want == "" && (err != nil || d.Schema != "dumptool/compare/1" || d.RunID != "a1"):
			t.Errorf("%s: %+v, %v", name, d, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path)):
			t.Errorf("%s: error %v, want %s", name, err, tt.want)
		}
	}
}

// TestNamed: the existing form of a document is found, and one form replaces the other.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compare.json")
	for _, there := range []string{path + Ending, path} {
		if err := os.WriteFile(there, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := RemoveOther(there); err != nil {
			t.Fatal(err)
		}
		if got := FindNamed(path); got != there {
			t.Errorf("%s is there, Named says %s", there, got)
		}
		docs, err := listDocuments(dir, []string{"compare.json"})
		if err != nil || len(docs) != 1 || docs[0] != there {
			t.Errorf("%q, %v", docs, err)
		}
	}
}

// TestSameWork checks the differences that keep an earlier document from being used.
func TestSameWork(t *testing.T) {
	base := func() Origin {
		return Origin{Tool: "dumptool v1.0.0", Shard: &Spec{1, 3}, Listing: "ab", RunID: "r",
			Options: []Option{{Name: "rtol", Value: "0.1", Of: OfRow}}, Argv: []string{"--format=csv"}}
	}
	for name, tt := range map[string]struct {
		change func(o *Origin)
		work   bool
	}{
		"nothing":      {func(*Origin) {}, true},
		"shard":        {func(o *Origin) { o.Shard = &Spec{2, 3} }, false},
		"a whole run":  {func(o *Origin) { o.Shard = nil }, false},
		"files":        {func(o *Origin) { o.Listing = "cd" }, false},
		"run":          {func(o *Origin) { o.RunID = "" }, false},
		"option":       {func(o *Origin) { o.Options[0].Value = "0.2" }, false},
		"command line": {func(o *Origin) { o.Argv = []string{"--format=html", "--out=x"} }, true},
		"interruption": {func(o *Origin) { o.Interrupted = true }, true},
	} {
		a, b := base(), base()
		tt.change(&b)
		if got := a.IsSameWork(&b); got != tt.work || b.IsSameWork(&a) != tt.work {
			t.Errorf("%s: the same work: %v, want %v", name, got, tt.work)
		}
	}
}

// FuzzOpen: no bytes make the reader of documents panic.
func FuzzOpen(f *testing.F) {
	f.Add(written(f, `{"schema": "dumptool/compare/1"}`))
	f.Add([]byte(`{"schema": "dumptool/compare/1"}`))
	f.Add([]byte(frameMagic + "\x00\x58\x00\x00\x00"))
	path := filepath.Join(f.TempDir(), "d.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := ReadOrigin(path); err == nil && d.Schema == "" {
			t.Error("a document without a schema")
		}
	})
}

// TestOpenAt opens documents in all forms at every offset: compressed in one frame, in several, by
// other programs without a seek table, and with a wrong seek table.
func TestOpenAt(t *testing.T) {
	const text = `{"schema": "dumptool/compare/1", "rows": []}`
	two := written(t, text)
	two = two[:len(two)-sizeOfHead-sizeOfEntry-sizeOfFoot]
	for name, data := range map[string][]byte{"plain": []byte(text), "compressed": written(t, text), "no table": two, "foreign table": append(written(t, text[:9]), written(t, text[9:])...)} {
		path := filepath.Join(t.TempDir(), "compare.json")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		for at := range len(text) + 1 {
			checkFrom(t, path, text, int64(at))
		}
		if _, err := OpenAt(path, int64(len(text)+1)); name != "plain" && err == nil {
			t.Errorf("%s: an offset behind the end is no error", name)
		}
	}
}

func checkFrom(t *testing.T, path, text string, at int64) {
	t.Helper()
	in, err := OpenAt(path, at)
	if err != nil {
		t.Fatal(at, err)
	}
	got, err := io.ReadAll(in)
	if err != nil || string(got) != text[at:] || in.Close() != nil {
		t.Errorf("from %d: %d bytes, %v", at, len(got), err)
	}
}

// TestFrames: a long document is read from the frame of the offset, also if it was written in
// pieces.
func TestFrames(t *testing.T) {
	var b strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&b, "row %d\n", i)
	}
	text, path := b.String(), filepath.Join(t.TempDir(), "compare.json")
	data := written(t, text)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	file := io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
	for _, at := range []int64{0, 1, textOfFrame - 1, textOfFrame, textOfFrame + 1, 2*textOfFrame + 5, int64(len(text)) - 1, int64(len(text))} {
		checkFrom(t, path, text, at)
		frame, first := frameAt(file, at)
		if want := at / textOfFrame * textOfFrame; first != want || (frame > 0) != (want > 0) {
			t.Errorf("offset %d is in the frame at %d with the text from %d, want %d", at, frame, first, want)
		}
		if string(data[frame:frame+4]) != frameMagic {
			t.Errorf("no frame begins at %d", frame)
		}
	}
	var pieces bytes.Buffer
	err := Compress(&pieces, func(w io.Writer) error {
		for rest := text; rest != ""; {
			n := min(len(rest), 70_001)
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
	if err != nil || !bytes.Equal(pieces.Bytes(), data) {
		t.Errorf("in pieces %d bytes, at once %d, %v", pieces.Len(), len(data), err)
	}
	failing := errors.New("full")
	if err := Compress(failingWriter{failing}, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); !errors.Is(err, failing) {
		t.Errorf("error %v, want %v", err, failing)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
