export const FormError = ({ message }: { message: string | undefined }) =>
  message === undefined ? null : (
    <p role="alert" className="text-bad">
      {message}
    </p>
  );
