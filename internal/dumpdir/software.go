package dumpdir

import (
	"cmp"
	"io"
	"math"
	"path"

	"dumptool/internal/jsonpos"
)

// Software is a program that made dumps.
type Software struct {
	Name    string
	Version string // empty where the file says none
	File    string // the name of the file that says it
}

// rankSoftware is software of the rounds of a rank, of all where that is empty.
type rankSoftware struct {
	rank string
	Software
}

// configName is what MindSpore says of itself, in a folder of its settings:
// {"device_target": "Ascend", "ms_version": "1.8.1"}.
const configName = "config.json"

// versionLength is as much as is taken of a version: it comes from a file and may be anything.
const versionLength = 64 // characters

// readConfig notes the version of MindSpore.
func (r *reader) readConfig(file *File) {
	version := ""
	err := readSide(file.Path(), func(in io.Reader) error {
		text := jsonpos.NewReader(in, math.MaxInt64)
		err := text.Object(func(key string) error {
			if key != "ms_version" || text.Kind() != jsonpos.String {
				return text.Skip()
			}
			return text.Decode(&version)
		})
		return cmp.Or(err, text.End())
	})
	if err != nil {
		r.run.problem(BadSide, file.Path(), file.Folder.At, err)
		return
	}
	if version != "" {
		r.software = append(r.software, rankSoftware{file.Folder.At.Rank, Software{"mindspore", jsonpos.Shorten(version, versionLength), file.Name}})
	}
}

// attachSoftware gives a round what files say of who made its dumps: those of its rank,
// and dump.json of msprobe.
func (r *reader) attachSoftware(round *Round) {
	if name := round.Header.Framework; name != "" {
		for i := range r.msprobes {
			if d := &r.msprobes[i]; *d.at == round.At {
				round.Software = append(round.Software, Software{Name: jsonpos.Shorten(name, versionLength), File: path.Base(d.file.Name)})
				break
			}
		}
	}
	for _, s := range r.software {
		if s.rank == "" || s.rank == round.At.Rank {
			round.Software = append(round.Software, s.Software)
		}
	}
}
