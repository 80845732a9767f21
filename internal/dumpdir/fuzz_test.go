package dumpdir

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/sidefile"
)

// FuzzCoordinates: every path has coordinates, without start times and without leading zeros; the
// rest of the path is in Folder.
func FuzzCoordinates(f *testing.F) {
	for _, test := range trees {
		for name := range test.files {
			f.Add(name)
		}
	}
	for _, odd := range []string{"", "/", "//a", "rank_/x", "rank_00/0/0", "device_9/iteration_", "_graph_1/0", "a_graph_/b", "20200808163566/20200808163566/1", "1_2/3/before/intensor0.bin", "99999999999999999999/A.b.1.2", "30200808163566/20200808163566/", "20200808163566/20200808163567/0/x/1/2/A.b.1.2.3"} {
		f.Add(odd)
	}
	leading := regexp.MustCompile(`^0[0-9]`)
	time := regexp.MustCompile(`^[0-9]{14}$`)
	f.Fuzz(func(t *testing.T, name string) {
		dir, base := path.Split(name)
		folder := &Folder{Path: dir, Dir: path.Clean("./" + dir)}
		folder.files = []*File{{Folder: folder, Name: base, path: base}}
		r := &reader{run: &Run{folders: []*Folder{folder}, Files: folder.files}, at: map[folderDevice]*Coordinates{}}
		r.locateFolder(folder, parsePath(folder.Dir))
		r.setRoles(false)
		at := folder.At
		for _, c := range coordinates[:3] {
			value := *c.value(&at)
			// rank_20200808163566 has an odd number, but says that it is a rank.
			named := func(part string) bool { return part != value && strings.Contains(part, value) }
			if leading.MatchString(value) || time.MatchString(value) && c.name == "rank" && !slices.ContainsFunc(strings.Split(folder.Dir, "/"), named) {
				t.Errorf("%q: %s %q", name, c.name, value)
			}
		}
		if at.Compare(at) != 0 || folder.Producer == "" {
			t.Errorf("%q: %s by %q", name, at, folder.Producer)
		}
		r.groupRounds()
		if len(r.run.Rounds) > 1 {
			t.Errorf("%q: %d rounds", name, len(r.run.Rounds))
		}
	})
}

func FuzzStatistics(f *testing.F) {
	for _, test := range trees {
		for name, text := range test.files {
			if strings.HasSuffix(name, statisticName) {
				f.Add(text)
			}
		}
	}
	f.Add("Input/Output,Index,Shape,Max Value\nInput,0,2x3,1e400\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		rows := 0
		_ = readStatistics(strings.NewReader(text), func(s *statisticRow) {
			rows++
			if s.kind == "" || s.index < 0 {
				t.Errorf("%q: row %d is %+v", text, rows, s)
			}
			atbIdentity(atbRowName(s))
		})
		if rows > lines {
			t.Errorf("%q: %d rows of %d lines", text, rows, lines)
		}
	})
}

func FuzzMSProbeName(f *testing.F) {
	for _, name := range []string{"Functional.relu.0.forward.input.0", "a.parameters_grad.1.weight", "x.output", ".input.3", "a.input.b.output.0.1", "a.parameters.b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, stem string) {
		id := cutMSProbe(stem)
		if id.kind == "" || id.index < 0 || !strings.HasPrefix(stem, id.op) || !strings.HasSuffix(stem, id.slice) {
			t.Errorf("%q: %+v", stem, id)
		}
	})
}

func FuzzExecutionOrder(f *testing.F) {
	f.Add("NodeExecutionOrder-FullNameWithScope\nDefault/a/Add-op1\n\"Default/b\nc\"")
	f.Add("\ufeffa,b\r\na\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		order, err := sidefile.ReadExecutionOrder(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		for i, name := range order.Names {
			if at, ok := order.Find(name); !ok || at != i {
				t.Errorf("%q: %q is at %d, found at %d", text, name, i, at)
			}
		}
		if n := len(rankByExecution(order, []Item{{Names: order.Names}}).places); n != 1 {
			t.Errorf("%q: %d places", text, n)
		}
	})
}
