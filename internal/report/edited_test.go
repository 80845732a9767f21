package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/guard"
	"dumptool/internal/shard"
)

// edits replace a value of a document.
var edits = []string{"null", "-1", "1e300", "1.5", `"no such word"`, `"nan"`, "[]", "{}", "true", "[[]]", `"18446744073709551616"`, "9223372036854775807", "-9223372036854775808"}

// textSpan is the place of a value in a document: its key, with quotes, from key on, and the value
// from first up to end. The name has no indexes.
type textSpan struct {
	name            string
	key, first, end int
}

// spansOf returns the values of a document in order; at most a few of each name.
func spansOf(t *testing.T, document []byte) (all []textSpan) {
	t.Helper()
	const most = 2
	in, seen := json.NewDecoder(bytes.NewReader(document)), map[string]int{}
	next := func() json.Token {
		token, err := in.Token()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	start := func() int {
		at := int(in.InputOffset())
		return at + len(document[at:]) - len(bytes.TrimLeft(document[at:], " \n,:"))
	}
	var walk func(name string, key int)
	walk = func(name string, key int) {
		s := textSpan{name: name, key: key, first: start()}
		switch next() {
		case json.Delim('{'):
			for in.More() {
				key := start()
				member, _ := next().(string)
				walk(name+"."+member, key)
			}
			next()
		case json.Delim('['):
			for in.More() {
				walk(name+"[]", -1)
			}
			next()
		}
		s.end = int(in.InputOffset())
		if seen[name]++; seen[name] <= most && name != "" {
			all = append(all, s)
		}
	}
	walk("", -1)
	return all
}

// last returns the key of the value, or of the list that contains it.
func (s *textSpan) last() string {
	name := strings.TrimRight(s.name, "[]")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// namesRow matches the name of a row in errors.
var namesRow = regexp.MustCompile(`rows\[\d+\]|row \d+ `)

// edited returns documents with this value replaced, removed, doubled or cut off.
func (s *textSpan) edited(document []byte, k int) (all map[string]string) {
	all = map[string]string{}
	text := func(first, end int, instead string) string {
		return string(document[:first]) + instead + string(document[end:])
	}
	const most = 4 // edits of one value; further edits go to the next value
	for i := range most {
		edit := edits[(most*k+i)%len(edits)]
		all[edit] = text(s.first, s.end, edit)
	}
	if s.key >= 0 {
		all["gone"] = text(s.key, s.first, `"gone":`)
		all["twice"] = text(s.key, s.key, string(document[s.key:s.end])+",")
	}
	if k%8 == 0 {
		all["cut"] = string(document[:s.first])
	}
	return all
}

// readers lists the readers of a compare.json.
func readersOf() map[string]func(path string) error {
	merge := func(path string) error {
		docs, err := shard.Find([]string{path}, conclude.DocumentName)
		if err != nil {
			return err
		}
		r, err := new(conclude.Options).Merge(context.Background(), docs, docs[0].Origin)
		if err == nil {
			_, err = io.WriteString(io.Discard, english.CompareVerdict(r))
		}
		return err
	}
	return map[string]func(path string) error{
		"report": func(path string) error {
			d, err := ReadDocuments([]string{path})
			if err == nil && d.Comparison != nil {
				err = d.WritePage(io.Discard, "", nil, Options{})
			}
			return err
		},
		"judge": func(path string) error {
			_, j, err := conclude.JudgeFile(path, new(limits.Options), nil)
			if err == nil {
				err = english.WriteJudgement(io.Discard, j)
			}
			return err
		},
		"merge": merge,
	}
}

// TestEditedDocuments: each reader of an edited compare.json either accepts it or gives one error
// with the fault and the file; nothing panics.
func TestEditedDocuments(t *testing.T) {
	rep := everything()
	rep.Listed = &record.Listing{Ref: []record.ListedRound{{Paired: true}}, NPU: []record.ListedRound{{Paired: true}}}
	rep.Rounds = []record.Round{{Findings: rep.Findings, Counts: rep.Counts}}
	for i := range rep.Rows {
		rep.Rows[i].Round = ""
	}
	document := []byte(rendered(t, rep.Write))
	path := filepath.Join(t.TempDir(), "compare.json")
	for name, read := range readersOf() {
		if err := os.WriteFile(path, document, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := read(path); err != nil {
			t.Fatalf("%s of a sound document: %v", name, err)
		}
	}
	count := map[bool]int{}
	for k, s := range spansOf(t, document) {
		for edit, text := range s.edited(document, k) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			refused := map[string]error{}
			for name, read := range readersOf() {
				err := guard.Do(func() error { return read(path) })
				refused[name] = err
				switch {
				case err == nil:
				case errors.As(err, new(*guard.Panic)):
					t.Errorf("%s %s, %s: %v", s.name, edit, name, err)
				case !strings.Contains(err.Error(), path):
					t.Errorf("%s %s, %s: the file is not named: %v", s.name, edit, name, err)
				case strings.Contains(err.Error(), "\n"):
					t.Errorf("%s %s, %s: more than a line: %v", s.name, edit, name, err)
				case !strings.HasPrefix(s.name, ".rows[]."):
				case !namesRow.MatchString(err.Error()):
					t.Errorf("%s %s, %s: the row is not named: %v", s.name, edit, name, err)
				case edit == "cut" && !strings.Contains(err.Error(), "line "):
					t.Errorf("%s %s, %s: no line is named: %v", s.name, edit, name, err)
				case edit != "cut" && edit != "gone" && !strings.Contains(err.Error(), s.last()):
					t.Errorf("%s %s, %s: the key is not named: %v", s.name, edit, name, err)
				}
			}
			for _, name := range []string{"judge", "merge"} {
				if refused["report"] != nil && refused[name] == nil {
					t.Errorf("%s %s: %s takes it, and report does not: %v", s.name, edit, name, refused["report"])
				}
			}
			count[refused["report"] == nil]++
		}
	}
	if count[false] == 0 || count[true] == 0 {
		t.Errorf("%d documents are refused, %d taken", count[false], count[true])
	}
}
