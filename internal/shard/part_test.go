package shard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// headOf is the head of a part of ten rows.
func headOf(index, of int) Head {
	return Head{Kind: "scan", Tool: "dumptool v1.2.3", Plan: "9f31aabbccddeeff", Shard: index, Of: of, Rows: 10}
}

// write writes a part with rows.
func write(t testing.TB, dir string, head Head, rows ...int) string {
	t.Helper()
	w, err := Create(dir, head)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, i := range rows {
		if err := w.Write(i, json.RawMessage(fmt.Sprintf(`{"n":%d}`, i*i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return w.Path()
}

// readAll reads the rows of a part.
func readAll(path string) ([]Row, error) {
	r, err := OpenPart(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var rows []Row
	for {
		row, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err
		}
		rows = append(rows, row)
	}
}

// The format, byte for byte, with the sum of another implementation: that of the
// standard library over the text.
func TestFormat(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), headOf(2, 4), 0, 4, 9)
	if got := filepath.Base(path); got != "part-00002-of-00004.jsonl" || !IsFileName(got) {
		t.Errorf("the file is called %s", got)
	}
	text := `{"schema":"dumptool/part/1","kind":"scan","tool":"dumptool v1.2.3","plan":"9f31aabbccddeeff","shard":2,"of":4,"rows":10}
{"i":0,"row":{"n":0}}
{"i":4,"row":{"n":16}}
{"i":9,"row":{"n":81}}
`
	want := text + fmt.Sprintf("{\"end\":true,\"rows\":3,\"crc32c\":\"%08x\"}\n", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("wrote %v\n%s\nwant\n%s", err, got, want)
	}
	rows, err := readAll(path)
	if err != nil || len(rows) != 3 || rows[1].Index != 4 || string(rows[1].Data) != `{"n":16}` {
		t.Errorf("read %v, %v", rows, err)
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, head := range []Head{{Of: 0}, {Of: 4, Shard: 4}, {Of: 4, Shard: -1}, {Of: MaxShards + 1}, {Of: 1, Rows: -1}} {
		if w, err := Create(dir, head); err == nil || w != nil {
			t.Errorf("%+v: no error", head)
		}
	}
	w, err := Create(dir, headOf(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(3, json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	for i, data := range map[int]string{3: "1", 2: "1", 10: "1", 4: "1\n2", 5: strings.Repeat("1", maxLine)} {
		if err := w.Write(i, json.RawMessage(data)); err == nil || !strings.Contains(err.Error(), w.Path()) {
			t.Errorf("row %d: error %v", i, err)
		}
	}
	w.Abort()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Every beginning of a part file, and every file with a changed byte, is an error that
// names the file, and no row comes that was not written.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, headOf(2, 4), 0, 4, 9)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad")
	check := func(what string, data []byte) error {
		if err := os.WriteFile(bad, data, 0o666); err != nil {
			t.Fatal(err)
		}
		rows, err := readAll(bad)
		if err == nil || rows != nil || !strings.HasPrefix(err.Error(), bad+": ") {
			t.Errorf("%s: rows %v, error %v", what, rows, err)
		}
		if p := look(bad); p.State == Complete && bytes.HasPrefix(whole, data) || p.State != Complete && p.Err == nil {
			t.Errorf("%s: state %s, %v", what, p.State, p.Err)
		}
		return err
	}
	for n := range len(whole) {
		err := check(fmt.Sprintf("the first %d bytes", n), whole[:n])
		cut, ok := errors.AsType[*CutError](err)
		lines := bytes.Count(whole[:n], []byte("\n"))
		want := &CutError{Path: bad, Shard: 2, Row: lines, Within: true}
		switch {
		case lines == 0:
			want.Shard = 0
		case whole[n-1] == '\n':
			want.Row, want.Within = lines-1, false
		}
		if !ok || *cut != *want {
			t.Errorf("the first %d bytes: error %v, want %v", n, err, want)
		}
	}
	for i := range whole {
		data := slices.Clone(whole)
		data[i] ^= 0x04
		check(fmt.Sprintf("byte %d changed", i), data)
	}
	check("more behind the end", append(slices.Clone(whole), "{}\n"...))
	lines := strings.SplitAfter(string(whole), "\n")
	check("a row twice", []byte(lines[0]+lines[1]+lines[1]+lines[2]+lines[3]+lines[4]))
	check("a row missing", []byte(lines[0]+lines[1]+lines[3]+lines[4]))

	err = check("cut", whole[:len(lines[0])+len(lines[1])+5])
	if want := bad + ": ends within row 2: the shard was killed; run shard 2 again"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "part")
	for text, want := range map[string]string{
		"":                     "ends within its first line: the shard was killed; run it again",
		"{}\n":                 "is no part of a result: its first line has no schema",
		"\x00\x01\n":           "is no part of a result",
		`{"schema":"a/b"}`:     "ends within its first line",
		"{\"schema\":\"a\"}\n": `is no part of a result: its schema is "a", want "dumptool/part/1"`,
		"{\"schema\":\"dumptool/part/2\",\"of\":\"x\"}\n":                                   "newer dumptool",
		"{\"schema\":\"dumptool/part/1\",\"of\":\"x\"}\n":                                   "the first line is damaged",
		"{\"schema\":\"dumptool/part/1\",\"of\":4,\"shard\":4}\n":                           "shard 4 of 4: want 0 to 3",
		"{\"schema\":\"dumptool/part/1\",\"of\":999999999}\n":                               "want 0 to 999999998 of at most 1048576",
		"{\"schema\":\"dumptool/part/1\",\"of\":4,\"rows\":-1}\n":                           "-1 rows in all",
		"{\"schema\":\"dumptool/part/1\",\"of\":4,\"rows\":1}\n{\"i\":1,\"row\":1}\n":       "row 1 has the index 1, want more than -1 and less than 1",
		"{\"schema\":\"dumptool/part/1\",\"of\":4,\"rows\":9}\n{\"row\":1}\n":               "row 1 is no row",
		"{\"schema\":\"dumptool/part/1\",\"of\":4,\"rows\":9}\n{\"i\":1}\n":                 "row 1 is no row",
		"{\"schema\":\"dumptool/part/1\",\"of\":4,\"rows\":9}\n{\"end\":\"x\"}\n":           "the last line is damaged",
		"{\"schema\":\"dumptool/part/1\",\"of\":4,\"rows\":9}\n{\"end\":true,\"rows\":0}\n": "the file is damaged; run shard 0 again",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if rows, err := readAll(path); err == nil || rows != nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want %q", text, rows, err, want)
		}
	}
	if _, err := OpenPart(dir); err == nil {
		t.Error("a folder is no part")
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, headOf(0, 4), 0, 5)
	write(t, dir, headOf(2, 4), 1, 2, 3)
	if err := os.WriteFile(filepath.Join(dir, ".part-00001-of-00004.jsonl.XYZ.tmp"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := List([]string{dir}, Head{Kind: "scan"})
	if err != nil || len(l.Parts) != 2 || l.Head.Of != 4 || l.Head.Rows != 10 || !slices.Equal(l.Missing, []int{1, 3}) || len(l.Faults()) > 0 {
		t.Fatalf("listing %+v, %v", l, err)
	}
	if p := l.Parts[1]; p.Rows != 3 || p.State != Complete || p.Bytes == 0 || p.Head.Shard != 2 {
		t.Errorf("part %+v", p)
	}
	if err := l.Err(); err == nil || err.Error() != dir+": 2 of 4 shards are missing: 1, 3" {
		t.Errorf("error %v", err)
	}
	write(t, dir, headOf(1, 4), 4, 6, 7)
	last := write(t, dir, headOf(3, 4), 8, 9)
	l, err = List([]string{dir, last}, Head{})
	if err != nil || l.Err() != nil || len(l.Parts) != 4 {
		t.Fatalf("listing %+v, %v", l, err)
	}
	var got []int
	if err := l.Rows(false, func(r Row) error { got = append(got, r.Index); return nil }); err != nil || !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("rows %v, %v", got, err)
	}
	if empty, err := List([]string{t.TempDir()}, Head{}); err != nil || empty.Err() == nil || !strings.Contains(empty.Err().Error(), "there are no parts") {
		t.Errorf("an empty folder: %v, %v", empty, err)
	}
	if _, err := List([]string{filepath.Join(dir, "none")}, Head{}); err == nil {
		t.Error("no folder: no error")
	}
}

func TestListFaults(t *testing.T) {
	t.Parallel()
	dir, again := t.TempDir(), t.TempDir()
	write(t, dir, headOf(0, 4), 0, 5)
	write(t, dir, headOf(1, 4), 1)
	write(t, again, headOf(1, 4), 1)
	other := headOf(2, 4)
	other.Plan = "77c0aabbccddeeff"
	write(t, dir, other, 2)
	write(t, dir, headOf(2, 3), 2)
	newer := headOf(3, 4)
	newer.Tool = "dumptool v2.0.0"
	write(t, dir, newer, 3)
	kind := headOf(3, 4)
	kind.Kind = "convert"
	write(t, again, kind, 3)
	l, err := List([]string{dir, again}, Head{Kind: "scan", Tool: "dumptool v1.9.0"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fault := range l.Faults() {
		got = append(got, strings.NewReplacer(dir, "DIR", again, "AGAIN").Replace(fault.Error()))
	}
	want := []string{
		"AGAIN/part-00001-of-00004.jsonl: is shard 1, as DIR/part-00001-of-00004.jsonl is",
		"DIR/part-00002-of-00003.jsonl: belongs to another number of shards (3, want 4)",
		"DIR/part-00002-of-00004.jsonl: belongs to another plan (77c0aabbccdd.., want 9f31aabbccdd..)",
		"AGAIN/part-00003-of-00004.jsonl: belongs to another command (convert, want scan)",
		"DIR/part-00003-of-00004.jsonl: belongs to another version (dumptool v2.0.0, want dumptool v1.9.0)",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("faults\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(l.Missing, []int{2, 3}) {
		t.Errorf("missing %v", l.Missing)
	}
}

// Parts of other rows than their plan has are found while they are merged.
func TestMergeErrors(t *testing.T) {
	t.Parallel()
	for want, rows := range map[string][2][]int{
		"row 3 is in":                          {{0, 1, 2, 3, 4}, {3, 5, 6, 7, 8, 9}},
		"row 2 is in no part, the next one is": {{0, 1, 3, 4}, {5, 6, 7, 8, 9}},
		"rows 8 to 9 are in no part":           {{0, 1, 2, 3, 4}, {5, 6, 7}},
	} {
		dir := t.TempDir()
		write(t, dir, headOf(0, 2), rows[0]...)
		write(t, dir, headOf(1, 2), rows[1]...)
		l, err := List([]string{dir}, Head{})
		if err != nil || l.Err() != nil {
			t.Fatal(err, l.Err())
		}
		err = l.Rows(false, func(Row) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		err = l.Rows(true, func(Row) error { return nil })
		if twice := strings.HasPrefix(want, "row 3"); (err != nil) != twice {
			t.Errorf("with rows missing: %v", err)
		}
	}
}

// Any rows, divided in any way among any number of shards, come back in order.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		n, total := rapid.IntRange(1, 9).Draw(t, "n"), rapid.IntRange(0, 60).Draw(t, "rows")
		run++
		parts := filepath.Join(dir, strconv.Itoa(run))
		writers := make([]*PartWriter, n)
		for i := range writers {
			w, err := Create(parts, Head{Kind: "x", Shard: i, Of: n, Rows: total})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort()
			writers[i] = w
		}
		var want []string
		for i := range total {
			text, err := json.Marshal(rapid.String().Draw(t, "row"))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(text))
			if err := writers[rapid.IntRange(0, n-1).Draw(t, "shard")].Write(i, text); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range writers {
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		l, err := List([]string{parts}, Head{})
		if err != nil || l.Err() != nil {
			t.Fatal(err, l.Err())
		}
		var got []string
		if err := l.Rows(false, func(r Row) error { got = append(got, string(r.Data)); return nil }); err != nil || !slices.Equal(got, want) {
			t.Errorf("rows %q, %v, want %q", got, err, want)
		}
	})
}

// Whatever a file holds, reading it ends with rows in order, or with an error.
func FuzzPart(f *testing.F) {
	whole, err := os.ReadFile(write(f, f.TempDir(), headOf(2, 4), 0, 4, 9))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("{\"schema\":\"dumptool/part/2\"}\n"))
	f.Add([]byte("{\"schema\":\"dumptool/part/1\",\"of\":1048576,\"rows\":9223372036854775807}\n{\"i\":9223372036854775806,\"row\":{}}\n"))
	f.Add([]byte("{\"schema\":\"dumptool/part/1\",\"of\":1}\n{\"end\":true,\"rows\":0,\"crc32c\":\"00000000\"}\n"))
	path := filepath.Join(f.TempDir(), FileName(2, 4))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		rows, err := readAll(path)
		for i, row := range rows {
			if row.Index < i || !json.Valid(row.Data) {
				t.Errorf("row %d: %+v", i, row)
			}
		}
		l, err2 := List([]string{path}, Head{})
		if err2 != nil {
			t.Fatal(err2)
		}
		if p := l.Parts[0]; err == nil && (p.State != Complete || p.Rows != len(rows)) {
			t.Errorf("part %+v has %d rows", p, len(rows))
		}
	})
}
