package dumpdir

import (
	"maps"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
)

// shortenFolders cuts the Folder of each round to the part that distinguishes the programs of a
// run. Folder becomes empty unless several folders hold the same tensor: then each of them is a
// program, and all its ranks and steps keep the folder.
func (r *reader) shortenFolders() {
	folders := make(map[Coordinates][]string) // by the other coordinates
	seen := make(map[*Coordinates]bool)
	for _, e := range r.entries {
		if at := e.at; !seen[at] {
			seen[at] = true
			rest := at.withoutFolder()
			folders[rest] = append(folders[rest], at.Folder)
		}
	}
	common := make(map[Coordinates]int)
	programs := make(map[Coordinates]map[string]string) // whole folders to shortened ones
	for at := range r.duplicateRounds(folders) {
		common[at] = commonFolders(folders[at])
	}
	if r.areModules(common) {
		shared := make(map[Coordinates]int, len(folders))
		for at, all := range folders {
			shared[at] = commonFolders(all)
		}
		for _, e := range r.entries {
			if e.file.Folder.Producer == Arrays {
				folder := cutFolders(e.at.Folder, shared[e.at.withoutFolder()])
				e.op = strings.TrimPrefix(folder+"/"+e.op, "/")
			}
		}
		clear(common)
	}
	for at := range common {
		all := at.programCoordinates()
		if programs[all] == nil {
			programs[all] = make(map[string]string)
		}
		for _, folder := range folders[at] {
			if cut := cutFolders(folder, common[at]); len(cut) > len(programs[all][folder]) {
				programs[all][folder] = cut
			}
		}
	}
	for at := range seen {
		folder := at.Folder
		at.Folder = ""
		if n, ok := common[*at]; ok {
			at.Folder = cutFolders(folder, n)
		} else {
			at.Folder = programs[at.programCoordinates()][folder]
		}
	}
}

// moduleIndex is the name of an element of a list of modules, such as layers.0.
var moduleIndex = lang.Pattern(`^[A-Za-z_]\w*\.\d+$`)

// areModules reports whether the folders of arrays are parts of tensor names, not rounds. Example:
// the ONNX value /layers/layers.0/MatMul_output_0 was saved under its name. Folders of rounds hold
// the same tensors. Folders of modules include a list element (layers.0), or one of them shares no
// tensor name with the others. common has the rounds with the same tensor in several folders, and
// the number of leading folders that these have in common.
func (r *reader) areModules(common map[Coordinates]int) bool {
	folders := make(map[string]map[string]bool) // by tensor
	parts := make(map[string]bool)
	for _, e := range r.entries {
		n, ok := common[e.at.withoutFolder()]
		if !ok {
			continue
		}
		folder := cutFolders(e.at.Folder, n)
		if e.file.Folder.Producer != Arrays || e.kind == "" || !strings.HasSuffix(e.file.Folder.Dir, folder) {
			return false
		}
		if folders[e.op] == nil {
			folders[e.op] = make(map[string]bool)
		}
		folders[e.op][folder] = true
		for _, part := range parsePath(folder) {
			parts[part.Name] = true
		}
	}
	isIndex, isShared := false, make(map[string]bool)
	for part := range parts {
		if filename.ParseFolder(part).Kind != filename.OtherFolder {
			return false
		}
		isIndex = isIndex || moduleIndex().MatchString(part)
	}
	for _, in := range folders {
		for folder := range in {
			isShared[folder] = isShared[folder] || len(in) > 1
		}
	}
	return isIndex || slices.Contains(slices.Collect(maps.Values(isShared)), false)
}

// duplicateRounds returns the rounds with the same tensor in several folders.
func (r *reader) duplicateRounds(folders map[Coordinates][]string) map[Coordinates]bool {
	type key struct {
		at         Coordinates
		op, opType string
		slot
	}
	repeated := make(map[Coordinates]bool)
	several := make(map[*Coordinates]bool)
	for _, at := range r.at {
		several[at] = len(folders[at.withoutFolder()]) > 1
	}
	seen := make(map[key]string)
	for _, e := range r.entries {
		if !several[e.at] {
			continue
		}
		rest := e.at.withoutFolder()
		k := key{rest, e.op, e.opType, e.slot()}
		if other, ok := seen[k]; ok && other != e.at.Folder {
			repeated[rest] = true
		}
		seen[k] = e.at.Folder
	}
	return repeated
}

// commonFolders returns the number of common leading folders of paths.
func commonFolders(paths []string) int {
	common := strings.Split(paths[0], "/")
	for _, p := range paths[1:] {
		parts := strings.Split(p, "/")
		n := 0
		for n < min(len(common), len(parts)) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	return len(common)
}

func cutFolders(p string, n int) string {
	for range n {
		_, p, _ = strings.Cut(p, "/")
	}
	return p
}
