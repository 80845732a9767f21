package main

import (
	"errors"
	"io"

	"dumptool/internal/compare"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/safefile"
)

// groupFlags say which groups of ranks there are.
func groupFlags(mesh *[]ranks.Axis, file *string) []cmdFlag {
	return []cmdFlag{
		{"parallel", parsed(mesh, ranks.ParseMesh), "`AXES` of the mesh of ranks, such as tp=2,dp=4; of tp, cp, ep, dp, pp and order=tp-cp-ep-dp-pp; default: what the dump says", "rank 网格的 `AXES`，例如 tp=2,dp=4；可用 tp、cp、ep、dp、pp 和 order=tp-cp-ep-dp-pp；默认按 dump", facts, safe | ofRow},
		{"groups", text(file), "`FILE` with groups that the dump names and does not list, a line NAME: 0,3,5 each", "`FILE` 给出 dump 提到而未列出的通信组，每行 NAME: 0,3,5", facts, ofRow | place},
	}
}

// dimsFlags say how tensors of ranks are cut.
func dimsFlags(o *rankFiles, write *string) []cmdFlag {
	return []cmdFlag{
		{"dims", text(&o.dims), "`FILE` that says how tensors of ranks are cut, where their values do not tell; a rule that contradicts them is a finding", "`FILE` 说明各 rank 的张量如何切分，用于数值不能说明之处；与数值矛盾的规则算问题", facts, ofRow | place},
		{"write-dims", text(write), "write where tensors of ranks lie in the reference to `FILE`, for --dims", "把各 rank 的张量在标杆中的位置写到 `FILE`，供 --dims 使用", reporting, place},
	}
}

// rankFiles are files about ranks.
type rankFiles struct{ groups, dims string }

// mostRanks is how many bytes of a file about ranks are read.
const mostRanks = 16 << 20

// readRanks reads a file about ranks that a flag names.
func readRanks(flag, path string) (content []byte, err error) {
	err = safefile.Read(path, func(in safefile.Input) (err error) {
		if in.Size() > mostRanks {
			return lang.Errorf("has %d bytes, want at most %d", in.Size(), mostRanks)
		}
		content, err = io.ReadAll(io.NewSectionReader(in, 0, in.Size()))
		return err
	})
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	return content, nil
}

// readGroups reads the groups of a file, empty for none.
func readGroups(to *ranks.Groups, file string) error {
	if file == "" {
		return nil
	}
	content, err := readRanks("groups", file)
	if err != nil {
		return err
	}
	if to.Named, err = ranks.ParseGroups(string(content)); err != nil {
		return usagef("--groups %s: %w", file, err)
	}
	return nil
}

// read reads what files say of the ranks of a comparison.
func (f *rankFiles) read(o *compare.Options) error {
	if err := readGroups(&o.Groups, f.groups); err != nil {
		return err
	}
	if o.Unshard == compare.UnshardOff && (f.dims != "" || o.WriteDims != "" || o.Groups.Mesh != nil) {
		return usagef("--dims, --write-dims and --parallel are of ranks that are compared with their part of the reference: leave --unshard off out")
	}
	for _, input := range []string{f.dims, f.groups} {
		if o.WriteDims != "" && input != "" && safefile.SameFile(input, o.WriteDims) {
			return usagef("--write-dims %s: that file is read", o.WriteDims)
		}
	}
	if f.dims == "" {
		return nil
	}
	content, err := readRanks("dims", f.dims)
	if err != nil {
		return err
	}
	if o.Dims, err = ranks.ParseDims(f.dims, content); err != nil {
		return rankError(err)
	}
	if mesh := o.Groups.Mesh; mesh != nil && !o.Dims.Take(mesh) {
		return usagef("--parallel is another mesh than that of --dims %s", f.dims)
	}
	return nil
}

// rankError gives an error in what is said of ranks its exit status.
func rankError(err error) error {
	if dims, ok := errors.AsType[*ranks.DimsError](err); ok {
		return usagef("--dims %w", dims)
	}
	if mesh, ok := errors.AsType[*ranks.MeshError](err); ok {
		return usagef("%w", mesh)
	}
	return err
}

// writeDims writes where tensors of ranks were found, if that is wanted.
func (a *app) writeDims(path string, plan *compare.Plan) error {
	switch content := plan.Dims(); {
	case path == "":
	case content == nil:
		warn(a, []lang.Sentence{lang.Sayf("--write-dims: the ranks are not sharded otherwise than the reference, %s is not written", "--write-dims：各 rank 的切分与标杆相同，未写入 %s", path)})
	default:
		if err := safefile.WriteFile(path, content); err != nil {
			return incompletef("%w", err)
		}
	}
	return nil
}
