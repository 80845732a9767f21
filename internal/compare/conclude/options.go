package conclude

import (
	"dumptool/internal/compare/execute"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
)

// Options are the options of a whole comparison.
type Options struct {
	execute.Options
	BaselineOptions
	OutcomeOptions
	RecomputeOptions
	// Origin and Args describe the run that made the report.
	Origin shard.Origin
	Args   []string
	files  sidefile.Files // set by Load
}

// Load reads the side files and the baseline. With UpdateBaseline the baseline may be missing. Problems that do not
// prevent a comparison become warnings. Errors are *sidefile.FileError.
func (o *Options) Load(files sidefile.Files) error {
	o.files = files
	in, err := files.Load()
	if err != nil {
		return err
	}
	o.SideFiles = *in
	for _, problem := range in.Problems {
		o.Warnings = append(o.Warnings, lang.Error(problem))
	}
	if o.Ref != "" && o.Stems[0] == "" && safefile.IsSameFile(o.Ref, o.NPU) {
		o.Warnings = append(o.Warnings, lang.Say("--cpu and --npu are the same: %s", o.Ref))
	}
	o.Judge.ChooseMode(o.SideFiles.OpConfig)
	return o.LoadBaseline()
}
