"""Compile parts as far as kernels need: to code that they take in, and optimise with their own.

numba optimises a function by itself, makes machine code of it and keeps that; and whatever calls
it does all of that once more with a copy. Of a part, which only kernels call, nobody needs more
than the copy. To leave out the rest saves a quarter of the time of a first gradient.

Parts that were not optimised before are sooner inlined. That suits most; but what is large and
rare crowds the loop that calls it, unless it is optimised by itself.
"""

import llvmlite.binding as llvm
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering


class _Part(JITCodeLibrary):
    """Code without machine code."""

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


class _RawPart(_Part):
    """Such code before it is optimised: kernels do that anyway, and see through it."""

    def _optimize_final_module(self):
        """Inline what must be, and tidy up: the cheap half of what numba does.

        Older llvmlite has other names for it: there kernels find the code as it is.
        """
        if hasattr(llvm, "create_pass_builder"):
            tuning = llvm.create_pipeline_tuning_options(speed_level=0)
            builder = llvm.create_pass_builder(self._codegen._tm, tuning)
            passes = builder.getModulePassManager()
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
            passes.run(self._final_module, builder)


@register_pass(mutates_CFG=False, analysis_only=True)
class _Entry(LoweringPass):
    """Tell numba where the code of a function is that has no machine code."""

    _name = "entry of a part"

    def __init__(self):  # which numba leaves to each pass
        super().__init__()

    def run_pass(self, state):
        lowered = state.cr
        module, name = lowered.fndesc.lookup_module(), lowered.fndesc.qualname
        entry = _dynfunc.make_function(module, name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(entry, lowered.fndesc, [state.library])
        state.cr = lowered._replace(cfunc=entry)
        return False


class _PartCompiler(Compiler):
    """numba's compiler, up to the code."""

    library = _Part

    def __init__(self, typing, target, library, args, result, flags, types):
        flags.no_compile = True
        library = self.library(target.codegen(), "part")
        super().__init__(typing, target, library, args, result, flags, types)

    def define_pipelines(self):
        (pipeline,) = super().define_pipelines()
        pipeline.add_pass_after(_Entry, NativeLowering)
        pipeline.finalize()
        return [pipeline]


class _RawPartCompiler(_PartCompiler):
    library = _RawPart


def compiler_of(*, optimised):
    """What numba takes as `pipeline_class` for functions that only compiled functions call."""
    return _PartCompiler if optimised else _RawPartCompiler
